import Testing
import Vocabulary

@testable import Configuration

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct `Presets` {
    private static let folder =
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
        + "/config/providers"

    private func credential(_ keys: String) throws -> OAuthSettings {
        try settings("upstream: https://a.example\ncredential: { \(keys) }").oauth
    }

    private func told(_ keys: String) -> [String] {
        problems("upstream: https://a.example\ncredential: { \(keys) }")
    }

    @Test(arguments: Preset.all.map(\.name))
    func `come with a starter that is valid and stands in config`(name: String) throws {
        let preset = try #require(Preset.named(name))
        #expect(problems(preset.starter) == [])
        let file = try #require(fopen("\(Self.folder)/\(name).yaml", "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
        #expect(String(decoding: bytes, as: UTF8.self) == preset.starter)
    }

    @Test func `stand alone in their folder`() throws {
        let folder = try #require(opendir(Self.folder))
        defer { closedir(folder) }
        var names: Set<String> = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.insert(name) }
        }
        #expect(names == Set(Preset.all.flatMap { [$0.name + ".yaml", $0.name + ".md"] }))
    }

    @Test(arguments: Preset.all.map(\.name))
    func `have a page that says how to register`(name: String) throws {
        let preset = try #require(Preset.named(name))
        let page = try String(
            decoding: ConfigurationFile.contents(of: "\(Self.folder)/\(name).md").get(),
            as: UTF8.self)
        for heading in ["# ", "\n## Register\n", "\n## Configure\n", "\n## What is special\n"] {
            #expect(page.contains(heading))
        }
        #expect(page.contains("`proxy init \(name)`"))
        #expect(page.contains("[\(name).yaml](\(name).yaml)"))
        // Where the login comes back to is what has to be registered.
        guard preset.keys.contains("jwt_bearer") == false else { return }
        let address =
            [preset.starter, preset.keys].joined(separator: "\n").split(separator: "\n")
            .first { $0.contains("redirect_uri: ") && !$0.contains("post_logout") }?
            .split(separator: " ").last.map(String.init) ?? "http://127.0.0.1/callback"
        #expect(page.contains(address), "\(address)")
        for parameter in preset.parameters {
            #expect(page.contains("`\(parameter.key)"), "\(parameter.key)")
        }
    }

    @Test func `are what one would write`() throws {
        let github = try credential("provider: github, client_id: a, client_secret: { env: S }")
        guard case .fixed(let authorization, let token, nil) = github.endpoints else {
            Issue.record("\(github.endpoints)")
            return
        }
        #expect(authorization == "https://github.com/login/oauth/authorize")
        #expect(token == "https://github.com/login/oauth/access_token")
        #expect(github.clientAuthentication == .post)
        #expect(github.quirks == .githubErrors)
    }

    @Test func `take their parameters into their addresses`() throws {
        let keycloak = try credential(
            "provider: keycloak, host: sso.example.com:8443/auth, realm: staff, client_id: a")
        guard case .issuer(let issuer) = keycloak.endpoints else {
            Issue.record("\(keycloak.endpoints)")
            return
        }
        #expect(issuer == "https://sso.example.com:8443/auth/realms/staff")
        let path = try credential(
            "provider: azure_b2c, tenant: contoso, policy: B2C_1_in, issuer: https://i.example, client_id: a"
        )
        let query = try credential(
            "provider: azure_b2c_query, tenant: contoso, policy: B2C_1_in, issuer: https://i.example, client_id: a"
        )
        let base = "https://contoso.b2clogin.com/contoso.onmicrosoft.com"
        for (settings, expected) in [
            (path, base + "/B2C_1_in/oauth2/v2.0/token"),
            (query, base + "/oauth2/v2.0/token?p=B2C_1_in"),
        ] {
            guard case .fixed(_, let token, let issuer) = settings.endpoints else {
                Issue.record("\(settings.endpoints)")
                continue
            }
            #expect(token == expected)
            #expect(issuer == "https://i.example")
        }
    }

    @Test func `give way to what the credential says itself`() throws {
        let google = try credential(
            """
            provider: google, client_id: a, scopes: [x],
            authorization_params: { access_type: online, hd: example.com }
            """)
        #expect(
            google.additions(to: .authorization).parameters.sorted { $0.name < $1.name } == [
                NamedValue("access_type", "online"), NamedValue("hd", "example.com"),
                NamedValue("include_granted_scopes", "true"),
            ])
        #expect(google.scopes == ["x"])
        let okta = try credential(
            "provider: okta, domain: acme.okta.com, client_id: a, scopes: [y]")
        #expect(okta.scopes == ["y"])
    }

    @Test func `are refused with the reason`() {
        #expect(
            told("provider: githib, client_id: a") == [
                "2:25: no provider named \"githib\" is known here | did you mean \"github\"?"
            ])
        #expect(
            told("provider: auth0, client_id: a") == [
                "2:15: the provider \"auth0\" needs the key \"domain\" | for example domain: acme.eu.auth0.com"
            ])
        for domain in ["a b", "a?x=", "a#b", "a@b", "../x", "a//b", "/a", "a/", "a%2fb"] {
            #expect(
                told("provider: auth0, client_id: a, domain: \"\(domain)\"") == [
                    "2:54: \"\(domain)\" cannot be part of a provider's address | for example domain: acme.eu.auth0.com"
                ])
        }
        // What the preset does not know is the credential's own, and judged there.
        #expect(told("provider: keycloak, host: a.example, client_id: a, tenant: b").count == 1)
        #expect(told("provider: [github], client_id: a").count == 1)
        #expect(told("provider: oidc, issuer: https://a.example").count == 1)
    }
}
