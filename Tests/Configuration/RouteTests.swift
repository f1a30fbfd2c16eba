import Configuration
import Routing
import Testing
import Vocabulary

@Suite struct `Route settings` {
    private func read(_ routes: [String], _ more: String = "") throws -> Settings {
        try settings(text(routes, more))
    }

    private func text(_ routes: [String], _ more: String = "") -> String {
        (["routes:"] + routes.map { "  - { \($0) }" } + [
            "credentials:", "  a: { token: { env: A } }",
            "  b: { token: { env: B }, header: X-Api-Key }", more,
        ]).joined(separator: "\n")
    }

    @Test func `read every key`() throws {
        let spec = try #require(
            read([
                """
                path: /v1/, host: Files.localhost, upstream: "https://api.example.com/base/",
                    credential: b, client_authorization: refuse, set_headers: { X-A: 1, X-B: "a b" },
                    remove_headers: Cookie, host_header: other.example, rewrite_location: false,
                    ca_file: ca.pem
                """
            ]).routeSpecs.first)
        #expect(spec.path == "/v1/")
        #expect(spec.host == "files.localhost")
        #expect(spec.upstream.description == "https://api.example.com/base")
        #expect(spec.credential?.slot == CredentialSlot(1))
        #expect(spec.credential?.field == "X-Api-Key")
        #expect(spec.credential?.clientField == .refuse)
        #expect(spec.setFields.map(\.name) == ["X-A", "X-B"])
        #expect(spec.setFields.map(\.value) == ["1", "a b"])
        #expect(spec.removedFields == ["Cookie"])
        #expect(spec.hostField == "other.example")
        #expect(!spec.rewritesLocation)
        #expect(spec.caFile == "/etc/proxy/ca.pem")
    }

    @Test func `say what refusals mean (F65)`() throws {
        let spec = try #require(
            read([
                """
                upstream: https://api.example.com, credential: a, refusals: [
                    { status: 403, error: token_expired, then: refresh },
                    { status: 401, scheme: Basic, then: pass },
                    { status: 402, then: login }, { status: 418, then: fail }]
                """
            ]).routeSpecs.first)
        #expect(
            spec.refusalRules == [
                RefusalRule(status: 403, error: "token_expired", action: .refresh),
                RefusalRule(status: 401, scheme: "basic", action: .pass),
                RefusalRule(status: 402, action: .login),
                RefusalRule(status: 418, action: .fail),
            ])
        for wrong in [
            "[{ status: 200, then: pass }]", "[{ status: 401 }]", "pass",
            "[{ status: 401, then: cry }]",
        ] {
            #expect(throws: ConfigurationError.self) {
                try read(["upstream: https://api.example.com, credential: a, refusals: \(wrong)"])
            }
        }
    }

    @Test func `are tried by host and longest path`() throws {
        let read = try read([
            "path: /a, upstream: https://one.example, credential: a",
            "path: /a/b, upstream: https://two.example, credential: b",
            "host: c.localhost, upstream: https://three.example, credential: none",
        ])
        func match(_ host: String, _ path: String) -> Int? {
            Array(host.utf8).withUnsafeBytes { host in
                Array(path.utf8).withUnsafeBytes { read.routes.match(host: host, path: $0) }
            }
        }
        #expect(match("localhost", "/a/x") == 0)
        #expect(match("localhost", "/a/b/x") == 1)
        #expect(match("c.localhost", "/a/b/x") == 2)
        #expect(read.access.allowedHosts.map(\.host) == ["c.localhost"])
        #expect(read.routes.routes.map(\.credential?.index) == [0, 1, nil])
    }

    @Test(arguments: [
        (
            [
                "path: /a, upstream: https://x, credential: a",
                "path: /a/, upstream: https://y, credential: a",
            ],
            "3:7: two routes have the path \"/a/\" | the other is at /etc/proxy/proxy.yaml:2:7"
        ),
        (
            [
                "host: h.localhost, upstream: https://x, credential: a",
                "host: H.localhost, path: /, upstream: https://y, credential: a",
            ],
            "3:26: two routes have the path \"/\" at host \"h.localhost\" | the other is at "
                + "/etc/proxy/proxy.yaml:2:5"
        ),
        (
            ["upstream: https://x, credential: zebra"],
            "2:40: no credential named \"zebra\" | known credentials: a, b"
        ),
        (
            ["upstream: https://x"],
            "2:5: route needs the key \"credential\" | name one of the credentials, or write "
                + "credential: none to add nothing"
        ),
        (
            ["upstream: https://x, credential: { token: { env: A } }"],
            "2:40: a route names its credential | put the mapping under \"credentials\" and write "
                + "its name here"
        ),
        (
            ["upstream: http://api.example.com, credential: a"],
            "2:17: \"http://api.example.com\" would send the credential over the network in the "
                + "clear | write https://, or allow_plain_http: true where that is wanted"
        ),
        (
            ["upstream: 'https://user:canary@x', credential: a"],
            "2:17: the URL of an upstream names a user | a credential belongs under \"credential\""
        ),
        (
            ["upstream: 'user:canary@x/y', credential: a"],
            "2:17: the URL of an upstream names a user | a credential belongs under \"credential\""
        ),
        (
            ["upstream: 'https://x?y', credential: a"],
            "2:17: the URL of an upstream has a query: \"https://x?y\" | end it with the path"
        ),
        (
            ["upstream: https://caf\u{e9}.example, credential: a"],
            "2:17: \"caf\u{e9}.example\" is no host | write the name in its ASCII form, which begins "
                + "with xn--"
        ),
        (
            ["upstream: 'http://127.0.0.1:8080', credential: a"],
            "2:7: the upstream \"http://127.0.0.1:8080\" is this proxy | give the proxy another port "
                + "with listen"
        ),
        (
            ["upstream: 'http://localhost:8080/x', credential: a"],
            "2:7: the upstream \"http://localhost:8080\" is this proxy | give the proxy another port "
                + "with listen"
        ),
        (
            ["host: 'a:80', upstream: https://x, credential: a"],
            "2:13: \"a:80\" is no host name | write a name without scheme and port, such as "
                + "files.localhost"
        ),
        (
            ["upstream: https://x, credential: a, set_headers: { Host: y }"],
            "2:43: the header field \"Host\" is the proxy's own to write | use host_header"
        ),
        (
            ["upstream: https://x, credential: a, set_headers: { Authorization: y }"],
            "2:43: the header field \"Authorization\" is the proxy's own to write"
        ),
        (
            ["upstream: https://x, credential: a, remove_headers: ['X Y']"],
            "2:43: \"X Y\" is no name of a header field"
        ),
        (
            ["upstream: https://x, credential: a, host_header: 'a b'"],
            "2:43: the value of \"Host\" cannot be sent | leave out control characters and spaces at "
                + "its ends"
        ),
        (
            ["upstream: https://x, credential: none, client_authorization: refuse"],
            "2:46: client_authorization needs a credential that the client's could stand against | "
                + "the client's fields are passed on where there is none"
        ),
        (
            ["upstream: https://x, credential: a, allow: []"],
            "2:43: \"allow\" lists nothing | leave the key out, or leave the route out"
        ),
        (
            ["upstream: https://x, credential: a, deny: ['/a']"],
            "2:50: \"/a\" is no rule | write a method and a path, such as \"GET /repos/**\"; * stands "
                + "for one segment or a part of it, ** at the end for all below, * for every method"
        ),
        (
            ["upstream: https://x, credential: a, upgrades: [websocket, h2c]"],
            "2:65: \"h2c\" is no protocol that can be passed on | name it as the Upgrade header does, "
                + "such as websocket; h2c, HTTP and TLS would carry requests past the rules"
        ),
        (
            ["upstream: https://x, credential: a, paht: /a"],
            "2:43: unknown key \"paht\" in route | did you mean \"path\"?"
        ),
    ])
    func `are refused with place, value and hint`(_ routes: [String], _ expected: String) {
        let found = problems(text(routes))
        #expect(found == [expected])
        #expect(!found.joined().contains("canary"))
    }

    @Test func `allow plain upstreams on this machine and where it is said`() throws {
        let read = try read([
            "path: /a, upstream: 'http://[::1]:3000', credential: a",
            "path: /b, upstream: http://api.localhost:3000, credential: a",
            "path: /c, upstream: http://api.internal, credential: a, allow_plain_http: true",
        ])
        #expect(read.routes.upstreams.count == 3)
    }

    @Test(arguments: [
        ("127.0.0.1:9000", "http://[::1]:9000", false),
        ("127.0.0.1:9000", "http://127.0.0.1:9001", false),
        ("127.0.0.1:9000", "https://127.0.0.1:9000", true),
        ("'[::1]:9000'", "http://localhost:9000", true),
        ("0.0.0.0:9000", "http://127.0.0.1:9000", true),
        ("'[::]:9000'", "http://a.localhost:9000", true),
        ("192.0.2.1:9000", "https://192.0.2.1:9000", true),
        ("127.0.0.1:0", "http://127.0.0.1:8080", false),
        ("127.0.0.1:80", "http://localhost", true),
    ])
    func `never lead back to the proxy`(_ listen: String, _ upstream: String, _ isLoop: Bool) {
        let found = problems(
            text(
                ["upstream: '\(upstream)', credential: a"],
                "listen: [\(listen)]\nlocal_secret: { env: S }"))
        #expect(found.contains { $0.contains("is this proxy") } == isLoop, "\(found)")
        #expect(found.count == (isLoop ? 1 : 0))
    }

    @Test func `keep no header that may hold the local secret`() throws {
        let route = "upstream: https://x, credential: a, client_authorization: keep"
        let found = problems(text([route], "local_secret: { env: S }"))
        #expect(
            found == [
                "2:43: the client's \"Authorization\" is to be kept, and may hold the local secret | "
                    + "choose another field for the secret with local_secret: { header: X-… }"
            ])
        #expect(problems(text([route], "local_secret: { env: S, header: X-Local }")) == [])
    }

    @Test(arguments: ["routes: {}", "routes: []", "routes: x", "routes: [x]", "routes:"])
    func `must be a list of mappings`(_ text: String) {
        #expect(problems(text + "\ncredentials: { a: { token: { env: A } } }").count == 1)
    }
}
