// Token exchange (RFC 8693): another credential's token, or one from a file, a variable or a program,
// for one with another audience or scope. A token that was got for one subject is never used for
// another.

import Bytes
import Crossing
import OAuth
import TokenStore
import Vocabulary

struct ExchangeGrant: MachineGrant {
    let settings: OAuthSettings
    let exchange: TokenExchangeSettings
    /// Where the other credentials are.
    let roster: KeeperRoster
    let surroundings: Surroundings
    private let subjects = FileSubjects()

    init(
        _ settings: OAuthSettings, _ exchange: TokenExchangeSettings, roster: KeeperRoster,
        in surroundings: Surroundings
    ) {
        self.settings = settings
        self.exchange = exchange
        self.roster = roster
        self.surroundings = surroundings
    }

    private var parties: [TokenExchangeSettings.Party] {
        [exchange.subject] + (exchange.actor.map { [$0] } ?? [])
    }

    // MARK: What for

    func purpose() async -> String? {
        var purpose = basicPurpose
        for party in parties {
            guard let identity = await identity(of: party) else { return nil }
            purpose.add(identity)
        }
        return purpose.name
    }

    private var basicPurpose: GrantPurpose {
        var purpose = settings.purpose(of: "token_exchange")
        let lists = [
            parties.map(\.type), ["audience"], exchange.audiences, ["resource"], exchange.resources,
            ["type", exchange.requestedType ?? ""],
        ]
        for text in lists.joined() { purpose.add(text) }
        return purpose
    }

    /// Whom a party's token stands for; nil where only the token itself could tell.
    private func identity(of party: TokenExchangeSettings.Party) async -> SecretBytes? {
        switch party.source {
        case .secret(let source):
            return await subjects.subject(of: source, in: surroundings) { identity(in: $0, party) }
        case .credential(let id):
            // The person where an ID token names them, else this very token.
            guard let login = await roster.login(of: id, in: surroundings.store) else {
                return nil
            }
            if let person = login.idToken.flatMap({ GrantPurpose.subject(of: $0) }) {
                return SecretBytes(person)
            }
            return login.accessToken
        }
    }

    /// An access token is for others to read (RFC 9068 section 6), so that two of them are two
    /// subjects; the other kinds say whom they are about.
    private func identity(
        in token: SecretBytes, _ party: TokenExchangeSettings.Party
    ) -> SecretBytes {
        guard party.type != TokenExchangeSettings.accessToken else { return token }
        return GrantPurpose.subject(of: token).map { SecretBytes($0) } ?? token
    }

    // MARK: The request

    func request(
        at endpoints: Endpoints, after refused: MachineRequest?
    ) async throws(Lack) -> MachineRequest? {
        // Files and programs were asked a moment ago.
        if let refused, refused.parts.isEmpty { return nil }
        var tokens: [SecretBytes] = []
        var purpose = basicPurpose
        var parts: [CredentialID: Generation] = [:]
        for party in parties {
            let token: SecretBytes
            switch party.source {
            case .credential(let id):
                let credential = try await credential(id, newerThan: refused?.parts[id] ?? .none)
                parts[id] = credential.generation
                token = credential.token
                purpose.add(await identity(of: party) ?? token)
            case .secret(let source):
                token = try await read(source)
                purpose.add(identity(in: token, party))
            }
            tokens.append(token)
        }
        return MachineRequest(
            grant: .tokenExchange(
                exchange, subject: tokens[0], actor: tokens.count > 1 ? tokens[1] : nil,
                scopes: settings.scopes),
            purpose: purpose.name, parts: parts)
    }

    private func credential(
        _ id: CredentialID, newerThan generation: Generation
    ) async throws(Lack) -> Credential {
        guard let keeper = roster.keeper(of: id) else {
            throw .misconfigured(reason: "there is no credential \"\(id.name)\" to exchange")
        }
        do throws(Refusal) {
            return try await keeper.credential(newerThan: generation, insists: true)
        } catch {
            throw .partMissing(id, error)
        }
    }

    private func read(_ source: SecretSource) async throws(Lack) -> SecretBytes {
        do throws(SecretError) {
            return try await source.read(in: surroundings)
        } catch {
            throw error.lack
        }
    }

    func check(_ response: TokenResponse) throws(TokenFailure) {
        try response.checkIssuedType(exchange)
    }
}
