// An API that names its provider, and the provider, as a script: documents by URL, registrations
// counted, everything else not there.

import Bytes
import Support
import Synchronization
import TokenStore
import Vocabulary

@testable import AuthCore

/// What answers in place of a network.
final class McpWorld: Sendable {
    static let upstream = "https://mcp.example.com/mcp"
    static let issuer = "https://id.example.com"
    static let resourceURL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
    static let rootURL = "https://mcp.example.com/.well-known/oauth-protected-resource"
    static let serverURL = "https://id.example.com/.well-known/oauth-authorization-server"
    static let registerURL = "https://id.example.com/register"

    typealias Answer = Result<InboundResponse, FetchError>
    private let answers = Mutex<[String: Answer]>([:])
    let fetcher: ScriptedFetcher

    init() {
        let fetcher = ScriptedFetcher()
        self.fetcher = fetcher
        self[Self.resourceURL] = .json(200, Self.resource())
        self[Self.serverURL] = .json(200, Self.server())
        self[Self.registerURL] = .json(201, #"{"client_id":"reg-1"}"#)
        fetcher.answer { [weak self] request, _ in
            self?[request.url] ?? .page(404)
        }
    }

    subscript(url: String) -> Answer? {
        get { answers.withLock { $0[url] } }
        set { answers.withLock { $0[url] = newValue } }
    }

    static func resource(
        _ resource: String = upstream, servers: [String] = [issuer], more: String = ""
    ) -> String {
        let names = servers.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"resource":"\#(resource)","authorization_servers":[\#(names)]\#(more)}"#
    }

    static func server(_ issuer: String = issuer, more: String = "") -> String {
        #"""
        {"issuer":"\#(issuer)","authorization_endpoint":"\#(issuer)/authorize",
        "token_endpoint":"\#(issuer)/token","registration_endpoint":"\#(issuer)/register",
        "code_challenge_methods_supported":["S256"]\#(more)}
        """#
    }

    static func unauthorized(_ parameters: String) -> Answer {
        .page(401, [("WWW-Authenticate", "Bearer \(parameters)")])
    }

    var settings: OAuthSettings {
        var settings = OAuthSettings(
            endpoints: .discovered(resource: Self.upstream, issuer: nil), clientID: "")
        settings.registration = RegistrationSettings()
        return settings
    }

    var registrations: Int { fetcher.urls.filter { $0.hasSuffix("/register") }.count }
}
