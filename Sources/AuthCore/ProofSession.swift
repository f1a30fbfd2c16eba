// Sends a login's requests with proofs (RFC 9449): a fresh one for each, with the newest nonce of its
// server, and once more when the server wants another nonce. It spends nothing that it was not given.

package import Bytes
import Diagnostics
package import OAuth
package import Vocabulary

/// One key and the nonces that go with it, for the time of a login attempt or of a login.
package actor ProofSession {
    package nonisolated let key: ProofKey
    private var nonces: ServerNonces
    private let surroundings: Surroundings

    init(_ key: ProofKey, nonces: ServerNonces = ServerNonces(), in surroundings: Surroundings) {
        self.key = key
        self.nonces = nonces
        self.surroundings = surroundings
    }

    /// For the record of the login.
    var document: JSONObject { nonces.document }

    /// Takes over what another process has learned.
    func learn(_ document: JSONObject) { nonces.merge(ServerNonces(document)) }

    /// Whether a request to an authorization server that spends a code or a token should wait for
    /// one that spends nothing: some servers spend it before they ask for a nonce, and then it is lost.
    func needsPriming(for url: String) -> Bool {
        nonces.isStale(for: url, .authorizationServer, at: surroundings.time.wallTime())
    }

    /// The answer to a request to the authorization server with a proof; whoever sends it judges it.
    func send(_ request: OutboundRequest) async throws(FetchError) -> InboundResponse {
        try await attempt(request, nil, .authorizationServer)
    }

    /// The answer to a request with a proof; after `use_dpop_nonce` that to a second one.
    ///
    /// - Parameter accessToken: the token of a request to a resource, userinfo say, which the proof
    ///   then names. The caller sets Authorization.
    package func fetch(
        _ request: OutboundRequest, accessToken: SecretBytes? = nil
    ) async throws(FetchError) -> InboundResponse {
        let role: ServerNonces.Role = accessToken == nil ? .authorizationServer : .resource
        let sent = nonces.nonce(for: request.url, role)
        let response = try await attempt(request, accessToken, role)
        guard ProofNonce.isDemanded(by: response), let nonce = ProofNonce.value(in: response),
            nonce != sent
        else { return response }
        surroundings.log.debug("another nonce is asked for", ("url", .text(request.url)))
        return try await attempt(request, accessToken, role)
    }

    private func attempt(
        _ request: OutboundRequest, _ accessToken: SecretBytes?, _ role: ServerNonces.Role
    ) async throws(FetchError) -> InboundResponse {
        var proven = request
        guard
            let field = key.field(
                for: request, accessToken: accessToken,
                nonce: nonces.nonce(for: request.url, role), at: surroundings.time.wallTime())
        else { throw .invalidURL }
        proven.fields.append(field)
        let response = try await surroundings.fetcher.fetch(proven)
        nonces.note(response, from: request.url, role, at: surroundings.time.wallTime())
        return response
    }
}
