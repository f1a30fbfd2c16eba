// The JWT bearer grant (RFC 7523 section 2.1): a statement that somebody else has signed, or that is
// signed here with a key of the client's or a key file. Every request has a statement of its own.

import Bytes
import OAuth
import Vocabulary

struct AssertionGrant: MachineGrant {
    let settings: OAuthSettings
    let assertion: AssertionSettings
    let surroundings: Surroundings
    /// Who stands behind a file's contents, which change whenever a key or a statement is rotated.
    private let subjects = FileSubjects()

    init(_ settings: OAuthSettings, _ assertion: AssertionSettings, in surroundings: Surroundings) {
        self.settings = settings
        self.assertion = assertion
        self.surroundings = surroundings
    }

    func purpose() async -> String? {
        switch assertion {
        case .own: return name(nil)
        case .made(let source), .serviceAccount(let source, _):
            return await subjects.subject(of: source, in: surroundings) { subject(in: $0) }
                .map { name($0) }
        }
    }

    private func name(_ subject: SecretBytes?) -> String {
        var purpose = settings.purpose(of: "jwt_bearer")
        switch assertion {
        case .made: break
        case .own(let own):
            for text in [own.issuer, own.subject, own.audience ?? ""] { purpose.add(text) }
            for claim in own.claims {
                purpose.add(claim.name)
                if case .text(let text) = claim.value { purpose.add(text) }
            }
        case .serviceAccount(_, let user): purpose.add(user ?? "")
        }
        if let subject { purpose.add(subject) }
        return purpose.name
    }

    private func subject(in contents: SecretBytes) -> SecretBytes {
        switch assertion {
        case .made, .own:
            GrantPurpose.subject(of: contents).map { SecretBytes($0) } ?? contents
        case .serviceAccount:
            ((try? JSONReader.read(contents, strings: .secret))?.asObject?["client_email"]?.asSecret)
                ?? contents
        }
    }

    func request(
        at endpoints: Endpoints, after refused: MachineRequest?
    ) async throws(Lack) -> MachineRequest? {
        guard refused == nil else { return nil }
        do throws(SecretError) {
            switch assertion {
            case .made(let source):
                let made = try await source.read(in: surroundings)
                return MachineRequest(
                    grant: .jwtBearer(made, scopes: settings.scopes),
                    purpose: name(subject(in: made)))
            case .own(let own):
                return MachineRequest(
                    grant: .jwtBearer(
                        try await sign(own, at: endpoints), scopes: settings.scopes),
                    purpose: name(nil))
            case .serviceAccount(let source, let user):
                let file = try await source.readWhole(in: surroundings)
                return MachineRequest(
                    grant: .jwtBearer(
                        try sign(file, source.name, user, at: endpoints), scopes: []),
                    purpose: name(subject(in: file)))
            }
        } catch {
            throw error.lack
        }
    }

    private func sign(
        _ own: OwnAssertion, at endpoints: Endpoints
    ) async throws(SecretError) -> SecretBytes {
        let pem = try await own.key.readWhole(in: surroundings)
        let signer: JSONWebSigner
        do throws(SigningProblem) {
            signer = try JSONWebSigner(pem: pem, keyID: own.keyID)
        } catch {
            throw .unusableKey(source: own.key.name, reason: error.reason)
        }
        return GrantAssertion(
            issuer: own.issuer, subject: own.subject,
            audience: own.audience ?? endpoints.issuer ?? endpoints.token,
            lifetimeSeconds: own.lifetimeSeconds,
            claims: own.claims.compactMap { claim in
                if case .text(let text) = claim.value { (claim.name, text) } else { nil }
            }
        ).token(signedBy: signer, now: surroundings.time.wallTime())
    }

    private func sign(
        _ file: SecretBytes, _ name: String, _ user: String?, at endpoints: Endpoints
    ) throws(SecretError) -> SecretBytes {
        do throws(ServiceAccount.Problem) {
            return try ServiceAccount(file).assertion(
                to: endpoints.token, subject: user, scopes: settings.scopes,
                now: surroundings.time.wallTime())
        } catch {
            throw .unusableKey(source: name, reason: error.reason)
        }
    }
}
