import Configuration
import Testing
import Vocabulary

@Suite struct `Settings of discovery` {
    private func mcp(_ credential: String, upstream: String = "https://mcp.example.com/mcp")
        -> String
    {
        let lines = credential.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
        return "upstream: \(upstream)\ncredential:\n\(lines)\n"
    }

    @Test func `are whole with one line`() throws {
        let oauth = try settings(
            "upstream: https://mcp.example.com/mcp\ncredential: { discover: true }"
        ).oauth
        guard case .discovered("https://mcp.example.com/mcp", nil) = oauth.endpoints else {
            Issue.record("\(oauth.endpoints)")
            return
        }
        #expect(oauth.clientID.isEmpty)
        #expect(oauth.registration == RegistrationSettings())
        #expect(oauth.registration?.clientName == "Credential Proxy")
        #expect(oauth.scopes.isEmpty)
    }

    @Test func `read every key`() throws {
        let oauth = try settings(
            mcp(
                """
                discover: https://mcp.example.com/mcp/
                issuer: https://login.example.com/
                scopes: a
                registration:
                  form: mastodon
                  client_name: Mine
                  endpoint: https://login.example.com/register?x=y
                  initial_access_token: { env: IAT }
                  document: https://me.example/client.json
                """)
        ).oauth
        guard
            case .discovered("https://mcp.example.com/mcp/", "https://login.example.com/") =
                oauth.endpoints
        else {
            Issue.record("\(oauth.endpoints)")
            return
        }
        let registration = try #require(oauth.registration)
        #expect(registration.form == .mastodon)
        #expect(registration.clientName == "Mine")
        #expect(registration.endpoint == "https://login.example.com/register?x=y")
        #expect(registration.initialAccessToken == .environment(name: "IAT"))
        #expect(registration.documentURL == "https://me.example/client.json")
    }

    @Test func `leave a client that has a name alone`() throws {
        let oauth = try settings(mcp("discover: true\nclient_id: https://me.example/c.json")).oauth
        #expect(oauth.clientID == "https://me.example/c.json")
        #expect(oauth.registration == nil)
    }

    @Test func `register at a configured issuer as well`() throws {
        let oauth = try settings(mcp("issuer: https://m.example\nregistration: mastodon")).oauth
        guard case .issuer("https://m.example") = oauth.endpoints else {
            Issue.record("\(oauth.endpoints)")
            return
        }
        #expect(oauth.registration == RegistrationSettings(form: .mastodon))
    }

    @Test func `take the upstream of the one route`() throws {
        let text = """
            routes:
              - { path: /a, upstream: "https://MCP.example.com:443/mcp/", credential: mcp }
              - { path: /b, upstream: "https://mcp.example.com/mcp", credential: mcp }
            credentials:
              mcp: { discover: true }
            """
        guard
            case .discovered("https://mcp.example.com/mcp", nil) = try settings(text).oauth
                .endpoints
        else {
            Issue.record("another resource")
            return
        }
    }

    @Test(arguments: [
        ("discover: https://mcp.example.com/#x", "is no https:// URL of an API"),
        ("discover: http://mcp.example.com/mcp", "is no https:// URL of an API"),
        ("discover: maybe", "\"discover\" must be true or false"),
        ("discover: https://other.example/mcp", "its credential is for \"https://other.example\""),
        (
            "discover: true\ntoken_endpoint: https://a.example/t",
            "\"token_endpoint\" is given, and discover asks the API"
        ),
        (
            "discover: true\nclient_id: a\nregistration: dynamic",
            "a client that has a client_id is registered already"
        ),
        ("issuer: https://a.example\nregistration: static", "\"static\" is no value"),
        ("issuer: https://a.example\nregistration: { form: x }", "\"x\" is no value"),
        ("issuer: https://a.example\nregistration: { name: x }", "unknown key \"name\""),
        (
            "issuer: https://a.example\nregistration: { endpoint: \"http://a.example/r\" }",
            "in the clear"
        ),
        (
            "issuer: https://a.example\nregistration: { initial_access_token: secret-text }",
            "a secret must not stand in the configuration"
        ),
        (
            "issuer: https://a.example\nregistration: { document: \"https://me.example\" }",
            "is no https:// URL with a path"
        ),
        (
            "issuer: https://a.example\nregistration: { document: \"http://me.example/c\" }",
            "is no https:// URL with a path"
        ),
        ("discover: false", "needs the key \"issuer\""),
    ])
    func `are refused where they cannot work`(credential: String, message: String) {
        let found = problems(mcp(credential))
        #expect(found.contains { $0.contains(message) }, "\(found)")
        #expect(!found.joined().contains("secret-text"))
    }

    @Test(arguments: [
        (
            """
            routes:
              - { path: /a, upstream: "https://a.example/mcp", credential: mcp }
              - { path: /b, upstream: "https://b.example/mcp", credential: mcp }
            credentials: { mcp: { discover: true } }
            """, "discover: true needs one API, and 2 have this credential"
        ),
        (
            """
            routes: [{ path: /a, upstream: "https://a.example/mcp", credential: none }]
            credentials: { mcp: { discover: true } }
            """, "discover: true needs an API, and no route has this credential"
        ),
    ])
    func `are for one API`(text: String, message: String) {
        #expect(problems(text).contains { $0.contains(message) }, "\(problems(text))")
    }
}
