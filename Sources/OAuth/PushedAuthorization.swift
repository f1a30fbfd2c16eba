// Pushed authorization requests (RFC 9126): the parameters go to the server by POST, and the browser
// carries a reference to them. A reference serves one authorization; nothing here keeps one.

import Bytes
package import Vocabulary

/// What a server gave for a pushed request.
package struct PushedAuthorization: Sendable {
    /// To be used once, by one browser.
    package let requestURI: String
    /// From the answer's arrival on.
    package let expiresInSeconds: Int64

    /// For a server that does not say how long: the short end of what RFC 9126 section 2.2 suggests.
    private static let lifetimeSecondsAssumed: Int64 = 60
    private static let requestURIBytesMax = 2048

    /// The request to the endpoint, with the client's usual authentication (section 2.1). What the
    /// configuration adds to authorization requests is in the request already.
    package static func post(
        _ request: AuthorizationRequest, at endpoint: String, by client: ClientAuthentication,
        adding additions: FormAdditions = FormAdditions()
    ) -> FormPost {
        let names = Set(client.parameters.map(\.name))
        return FormPost(
            endpoint: endpoint, request.parameters.filter { !names.contains($0.name) },
            by: client, additions: additions)
    }

    /// - Parameter now: the local time, for a Retry-After that names a date.
    /// - Throws: the same verdicts as for a token request (section 2.3).
    package static func read(
        _ response: InboundResponse, to post: FormPost, now: WallTime
    ) throws(TokenFailure) -> PushedAuthorization {
        try read(
            AnswerReader(response: response, secrets: post.secrets, now: now).members(),
            status: response.status)
    }

    /// The same failure, said of this endpoint.
    package static func failure(_ failure: TokenFailure) -> TokenFailure {
        var failure = failure
        // A method or a size that the endpoint does not take (section 2.3) is not taken later either.
        if failure.status == 405 || failure.status == 413 {
            failure = TokenFailure(
                .misconfigured, failure.reason, status: failure.status,
                explanation: failure.explanation)
        }
        failure.subject = "the pushed authorization request endpoint"
        return failure
    }

    private static func read(
        _ members: JSONObject, status: Int
    ) throws(TokenFailure) -> PushedAuthorization {
        guard let uri = members["request_uri"]?.asRevealedString, !uri.isEmpty,
            uri.utf8.count <= requestURIBytesMax,
            uri.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw TokenFailure(.malformed, .missingMember("request_uri"), status: status) }
        let seconds = members["expires_in"].flatMap(TokenResponse.seconds)
        return PushedAuthorization(
            requestURI: uri, expiresInSeconds: max(1, seconds ?? lifetimeSecondsAssumed))
    }
}
