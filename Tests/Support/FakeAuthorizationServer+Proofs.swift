// DPoP at the fake authorization server (RFC 9449): it takes no token or pushed request without a good
// proof, binds what it grants to the key, and hands out a nonce with every answer.

import Synchronization

extension FakeAuthorizationServer {
    /// What it demands of token and pushed requests.
    package struct ProofPolicy: Sendable {
        package var isRequired = false
        /// How many proofs one nonce is good for; nil demands none.
        package var nonceUses: Int?
        /// Spends codes and refresh tokens before it asks for a nonce, as one large server does.
        package var spendsBeforeNonce = false
        /// What it calls its tokens, when that is not the truth.
        package var tokenType: String?

        package init(isRequired: Bool = false, nonceUses: Int? = nil) {
            self.isRequired = isRequired
            self.nonceUses = nonceUses
        }
    }

    /// The thumbprint of the request's key, or the answer that refuses it. Nil where nothing is
    /// demanded and nothing came.
    func proofKey(of request: HTTPMessage) -> Result<String?, ProofRefused> {
        guard policy.proofs.isRequired else { return .success(nil) }
        do throws(ProofCheck.Refusal) {
            let proof = try proofs.check(request, url: origin + request.path)
            return .success(proof.thumbprint)
        } catch {
            if policy.proofs.spendsBeforeNonce, error == .nonce {
                let form = FormText(reading: request.body.text)
                state.withLock { $0.grants.spend(form) }
            }
            return .failure(
                ProofRefused(
                    response: .json(
                        "{\"error\":\"\(error.code)\",\"error_description\":\(jsonText("\(error)"))}",
                        status: 400)))
        }
    }

    struct ProofRefused: Error {
        let response: FakeResponse
    }

    /// Whether a request carries one token with a proof of the key that it is bound to.
    ///
    /// - Parameter url: `htu` as the API knows itself.
    package func accepts(
        _ request: HTTPMessage, url: String, by check: ProofCheck
    ) throws(ProofCheck.Refusal) -> Bool {
        guard let value = request.value("Authorization"), value.hasPrefix("DPoP ") else {
            return false
        }
        let token = String(value.dropFirst("DPoP ".count))
        let proof = try check.check(request, url: url, accessToken: token)
        return accepts(accessToken: token)
            && state.withLock { $0.grants.thumbprint(of: token) } == proof.thumbprint
    }
}

extension FakeUpstream {
    /// An API that answers 401 unless the request carries a bound token with a good proof. Every answer
    /// carries a nonce where `check` hands them out.
    package convenience init(
        host: String = "127.0.0.1", protectedBy server: FakeAuthorizationServer,
        checking check: ProofCheck,
        answering respond: @escaping @Sendable (HTTPMessage) throws -> FakeResponse = { _ in .ok() }
    ) throws {
        try self.init(
            host: host,
            answering: { request in
                let url = "http://\(request.value("Host") ?? "")\(request.path)"
                var response: FakeResponse
                do throws(ProofCheck.Refusal) {
                    response =
                        try server.accepts(request, url: url, by: check)
                        ? .ok() : .refusal("invalid_token")
                } catch {
                    response = .refusal(error.code)
                }
                if response.status == 200 { response = try respond(request) }
                response.fields += check.fields
                return response
            })
    }
}

extension FakeResponse {
    /// RFC 9449 section 7.1, with Bearer offered beside it.
    package static func refusal(_ code: String) -> FakeResponse {
        FakeResponse(
            401, reason: "Unauthorized",
            fields: [("WWW-Authenticate", "Bearer, DPoP error=\"\(code)\", algs=\"ES256\"")],
            body: "who are you?")
    }
}
