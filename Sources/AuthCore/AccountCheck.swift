// May this authorization server speak for this account? In the AT Protocol any server can put any
// account's name into a token; the account's own records say which server it trusts. Asked with each
// login, and again with a refresh (atproto.com/specs/oauth, "Identity Authentication").

import OAuth
import TokenStore
import Vocabulary

/// Why a token is not believed to be for the account that it names.
package enum AccountError: Error, Hashable, Sendable {
    /// The token response names no account, or not in the AT Protocol's form.
    case noAccount
    /// `scope` lacks `atproto`, so the session is none of the protocol's.
    case otherProtocol
    /// Nobody could be asked; says nothing about the account.
    case unreachable(url: String, reason: String)
    /// What was asked gave no usable answer.
    case unusable(url: String)
    /// The account trusts another server.
    case otherIssuer(expected: String, named: String)
    /// A refresh brought a token for somebody else.
    case otherAccount
}

extension AccountError {
    /// Whether waiting may help.
    var isTransient: Bool {
        if case .unreachable = self { true } else { false }
    }

    /// One sentence without a full stop.
    package var message: String {
        switch self {
        case .noAccount: "the token response names no account (\"sub\" must be a DID)"
        case .otherProtocol: "the granted scope lacks \"atproto\""
        case .unreachable(let url, let reason):
            "the account's records cannot be read: \(url) gives no answer: \(reason)"
        case .unusable(let url): "the account's records cannot be used: \(url)"
        case .otherIssuer(let expected, let named):
            "the account trusts the server \(named), and this login came from \(expected)"
        case .otherAccount: "the refresh brought a token for another account"
        }
    }
}

/// Follows an account's records to the issuer that it trusts.
struct AccountCheck: Sendable {
    let surroundings: Surroundings

    /// - Parameter issuer: where the token came from, as its metadata writes it.
    func verify(_ response: TokenResponse, from issuer: String?) async throws(AccountError) {
        guard response.scopes?.contains("atproto") == true else { throw .otherProtocol }
        guard let account = response.account else { throw .noAccount }
        let server: String = try await ask(account.documentURL) {
            answer throws(AccountDocumentError) in
            try AccountDocument.server(in: answer, of: account)
        }
        let url = server + "/.well-known/oauth-protected-resource"
        let named: String = try await ask(url) { answer throws(AccountDocumentError) in
            try AccountDocument.issuer(in: answer, of: server)
        }
        guard let issuer, named.utf8.elementsEqual(issuer.utf8) else {
            throw .otherIssuer(expected: issuer ?? "", named: String(named.prefix(200)))
        }
    }

    /// What is definitely wrong with a refreshed token. Records that cannot be read now were read at
    /// the login, and say nothing against it.
    func fault(of response: TokenResponse, continuing login: Login) async -> AccountError? {
        guard response.account?.text == login.extras["sub"]?.asRevealedString else {
            return .otherAccount
        }
        do throws(AccountError) {
            try await verify(response, from: login.issuer)
            return nil
        } catch {
            return error.isTransient ? nil : error
        }
    }

    private func ask(
        _ url: String,
        _ read: (InboundResponse) throws(AccountDocumentError) -> String
    ) async throws(AccountError) -> String {
        // The address is a stranger's word.
        var request = OutboundRequest(.get, url, fields: [.init("Accept", "application/json")])
        request.reach = .publicOnly
        let answer: InboundResponse
        do throws(FetchError) {
            answer = try await surroundings.fetcher.fetch(request)
        } catch {
            throw .unreachable(url: url, reason: error.words)
        }
        do throws(AccountDocumentError) {
            return try read(answer)
        } catch {
            if case .unavailable(let status) = error {
                throw .unreachable(url: url, reason: "status \(status)")
            }
            throw .unusable(url: url)
        }
    }
}

extension TokenResponse {
    /// The account that the AT Protocol's token responses name.
    var account: AccountIdentifier? {
        extras["sub"]?.asRevealedString.flatMap { AccountIdentifier($0) }
    }
}
