// A provider as its documentation describes it: its own paths, answers and oddities, told by a script.
// Codes and tokens are kept here, so that each script says only what is special about its provider.

import Bytes
import Crypto
import Support
import Synchronization

/// One provider of the scripted Internet.
final class ScriptedProvider: Sendable {
    /// What differs from one provider to the next.
    struct Manner: Sendable {
        var authorizationPath = "/authorize"
        var tokenPath = "/token"
        /// Path and text of documents that anybody may read.
        var documents: [String: String] = [:]
        /// Parameters that the authorization request must have, with these values.
        var wantedParameters: [String: String] = [:]
        /// Whether the token request shows who the client is; what is wrong with it otherwise.
        var clientFault: @Sendable (HTTPMessage, FormText) -> String? = { _, form in
            form["client_id"] == nil ? "client_id" : nil
        }
        /// The answer to a token request that was granted.
        var answer: @Sendable (Granted) -> FakeResponse = { .json($0.document()) }
        /// The answer to one that was not, by the OAuth error.
        var refusal: @Sendable (String) -> FakeResponse = { code in
            .json("{\"error\":\(jsonText(code))}", status: 400)
        }
        /// Whether a login brings a refresh token, given the authorization request.
        var givesRefreshToken: @Sendable (FormText) -> Bool = { _ in true }
        /// Whether a refresh brings a new refresh token and spends the old one.
        var rotates = true
        /// More fields of the redirect back.
        var callbackParameters: [(name: String, value: String)] = []
        /// Requests to other paths; nil is a 404.
        var other: @Sendable (HTTPMessage, ScriptedProvider) -> FakeResponse? = { _, _ in nil }
    }

    /// What a token request got.
    struct Granted: Sendable {
        let access: String
        let refresh: String?
        let scope: String
        let nonce: String?
        let clientID: String
        let isRefresh: Bool

        /// A token response with these members more, JSON texts by name.
        func document(_ more: [(String, String)] = [], type: String = "Bearer") -> String {
            var members = [("access_token", jsonText(access)), ("token_type", jsonText(type))]
            if let refresh { members.append(("refresh_token", jsonText(refresh))) }
            members += more
            return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
        }
    }

    private struct Code: Sendable {
        let request: FormText
        var isSpent = false
    }

    private struct State: Sendable {
        var codes: [String: Code] = [:]
        /// By token, the authorization request that it stems from.
        var refreshTokens: [String: FormText] = [:]
        var accessTokens: Set<String> = []
        var pushed: [String: FormText] = [:]
        var authorizations: [FormText] = []
        var tokenRequests: [(message: HTTPMessage, form: FormText)] = []
        var faults: [String] = []
        var count = 0
    }

    let manner: Manner
    private let state = Mutex(State())

    init(_ manner: Manner) { self.manner = manner }

    // MARK: What happened

    /// Authorization requests with their parameters, pushed ones unfolded.
    var authorizations: [FormText] { state.withLock { $0.authorizations } }
    var tokenRequests: [(message: HTTPMessage, form: FormText)] {
        state.withLock { $0.tokenRequests }
    }
    /// What the provider found wrong, in words; a test wants none.
    var faults: [String] { state.withLock { $0.faults } }

    func accepts(_ token: String) -> Bool {
        state.withLock { $0.accessTokens.contains(token) }
    }

    /// The API stops taking what was issued so far.
    func endAccessTokens() { state.withLock { $0.accessTokens = [] } }
    func endRefreshTokens() { state.withLock { $0.refreshTokens = [:] } }
    func endRefreshToken(_ token: String) {
        state.withLock { _ = $0.refreshTokens.removeValue(forKey: token) }
    }
    func noteFault(_ fault: String) { state.withLock { $0.faults.append(fault) } }

    /// An API of the provider's that takes its tokens.
    func api(
        scheme: String = "Bearer", _ request: HTTPMessage,
        _ answer: (String) -> FakeResponse = { _ in .json("{\"login\":\"ada\"}") }
    ) -> FakeResponse {
        let words = (request.value("Authorization") ?? "").components(separatedBy: " ")
        guard words.count == 2, words[0] == scheme, accepts(words[1]) else { return .invalidToken }
        return answer(words[1])
    }

    /// Makes tokens without a login.
    func grant(scope: String, clientID: String, refreshes: Bool = false) -> Granted {
        let request = FormText([("scope", scope), ("client_id", clientID)])
        return state.withLock { issue(&$0, request, refreshes: refreshes, isRefresh: false) }
    }

    /// Keeps a pushed request (RFC 9126) and names it.
    func push(_ form: FormText) -> String {
        state.withLock { state in
            state.count += 1
            let name = "urn:ietf:params:oauth:request_uri:canary-\(state.count)"
            state.pushed[name] = form
            return name
        }
    }

    // MARK: Answering

    func answer(_ request: HTTPMessage) throws -> FakeResponse {
        if let document = manner.documents[request.path] { return .json(document) }
        switch (request.method, request.path) {
        case ("GET", manner.authorizationPath):
            return authorize(FormText(reading: request.query))
        case ("POST", manner.tokenPath): return token(request)
        default:
            return manner.other(request, self) ?? FakeResponse(404, body: "no such path")
        }
    }

    private func authorize(_ query: FormText) -> FakeResponse {
        state.withLock { state in
            var query = query
            if let name = query["request_uri"] {
                guard let pushed = state.pushed.removeValue(forKey: name) else {
                    return FakeResponse(400, body: "no such request_uri")
                }
                query = pushed
            }
            state.authorizations.append(query)
            for (name, value) in manner.wantedParameters where query[name] != value {
                state.faults.append("\(name) is \(query.values(name)), not \(value)")
            }
            guard let target = query["redirect_uri"], query["response_type"] == "code",
                query["code_challenge_method"] == "S256", let challenge = query["code_challenge"],
                challenge.utf8.count == 43, let sent = query["state"], sent.utf8.count >= 22
            else {
                state.faults.append("an authorization request without the usual: \(query.pairs)")
                return FakeResponse(400, body: "no")
            }
            state.count += 1
            let code = "canary-code-\(state.count)"
            state.codes[code] = Code(request: query)
            let answer = FormText(
                [("code", code), ("state", sent)] + manner.callbackParameters)
            return FakeResponse(302, fields: [("Location", target + "?" + answer.encoded)])
        }
    }

    private func token(_ request: HTTPMessage) -> FakeResponse {
        let form = FormText(reading: request.body.text)
        if let early = manner.other(request, self) { return early }
        let fault = manner.clientFault(request, form)
        let granted: Granted? = state.withLock { state in
            state.tokenRequests.append((request, form))
            if let fault {
                state.faults.append("client authentication: \(fault)")
                return nil
            }
            if !request.query.isEmpty && !manner.tokenPath.contains("?") {
                state.faults.append("a query at the token endpoint: \(request.query)")
            }
            return redeem(&state, form)
        }
        guard let granted else {
            return manner.refusal(fault == nil ? "invalid_grant" : "invalid_client")
        }
        return manner.answer(granted)
    }

    private func redeem(_ state: inout State, _ form: FormText) -> Granted? {
        switch form["grant_type"] {
        case "authorization_code":
            guard let name = form["code"], let code = state.codes[name], !code.isSpent,
                let verifier = form["code_verifier"],
                Base64.encode(Digest.sha256(Array(verifier.utf8)), .url)
                    == code.request["code_challenge"],
                form["redirect_uri"] == code.request["redirect_uri"]
            else { return nil }
            state.codes[name]?.isSpent = true
            return issue(
                &state, code.request, refreshes: manner.givesRefreshToken(code.request),
                isRefresh: false)
        case "refresh_token":
            guard let name = form["refresh_token"], let request = state.refreshTokens[name] else {
                return nil
            }
            if manner.rotates { state.refreshTokens[name] = nil }
            return issue(&state, request, refreshes: manner.rotates, isRefresh: true)
        default: return nil
        }
    }

    private func issue(
        _ state: inout State, _ request: FormText, refreshes: Bool, isRefresh: Bool
    ) -> Granted {
        state.count += 1
        let access = "canary-access-\(state.count)-" + String(UInt64.random(in: 1 << 60 ... .max))
        state.accessTokens.insert(access)
        var refresh: String?
        if refreshes {
            let made =
                "canary-refresh-\(state.count)-" + String(UInt64.random(in: 1 << 60 ... .max))
            state.refreshTokens[made] = request
            refresh = made
        }
        return Granted(
            access: access, refresh: refresh, scope: request["scope"] ?? "",
            nonce: request["nonce"], clientID: request["client_id"] ?? "", isRefresh: isRefresh)
    }
}
