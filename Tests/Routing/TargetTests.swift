import HTTPWire
import Routing
import Testing
import Vocabulary

@Suite struct `Target that goes upstream` {
    private func target(
        _ target: String, path: String = "", to upstream: String, method: String = "GET"
    ) throws -> String {
        let head = try upstreamHead(
            of: "\(method) \(target) HTTP/1.1\nHost: localhost:8080",
            through: .to(upstream, path: path))
        let line = head.prefix { $0 != "\n" }
        return line.dropFirst(method.count + 1).dropLast(9).description
    }

    @Test(arguments: [
        "/api/vhosts/%2F/perm%2fissions?next=%2Fa%2Fb",
        "/a//b/?redirect_uri=//x.example//y&empty", "/a?", "/a??", "//", "//?",
        "/year=2020/$meta/a+b/(c);v=1,2/~u/%7Eu/caf%C3%A9?x=a:b;c|d", "/a/../b/./c", "//host/x",
        "/\\x", "/%", "/b?a=/../..",
    ])
    func `has the bytes that came`(_ text: String) throws {
        #expect(try target(text, to: "https://api.example") == text)
        #expect(try target("/api" + text, path: "/api", to: "https://api.example") == text)
        #expect(try target(text, to: "https://api.example/v1") == "/v1" + text)
    }

    @Test(arguments: [
        ("/github", "", "/"), ("/github/", "", "/"), ("/github?x", "", "/?x"),
        ("/github?", "", "/?"), ("/github/repos?x=/github", "", "/repos?x=/github"),
        ("/github", "/api/v3", "/api/v3"), ("/github/", "/api/v3", "/api/v3/"),
        ("/github?x", "/api/v3", "/api/v3?x"), ("/github//a", "/api/v3", "/api/v3//a"),
    ])
    func `loses the prefix and gains the base path`(
        _ text: String, _ basePath: String, _ expected: String
    ) throws {
        #expect(try target(text, path: "/github", to: "https://a" + basePath) == expected)
    }

    /// A server at `/mcp` need not know `/mcp/`.
    @Test(arguments: [
        ("/", "/mcp", "/mcp"), ("/?", "/mcp", "/mcp?"), ("/?x", "/mcp", "/mcp?x"),
        ("http://localhost:8080", "/mcp", "/mcp"), ("http://localhost:8080/", "/mcp", "/mcp"),
        ("/", "/mcp/", "/mcp/"), ("/?x", "/mcp/", "/mcp/?x"), ("//", "/mcp", "/mcp//"),
        ("/a", "/mcp/", "/mcp/a"), ("/", "", "/"), ("/?", "/", "/?"),
    ])
    func `is the upstream's own path where nothing is asked for beneath it`(
        _ text: String, _ basePath: String, _ expected: String
    ) throws {
        #expect(try target(text, to: "https://a" + basePath) == expected)
    }

    @Test(arguments: [
        ("http://localhost:8080/x?y", "/x?y"), ("http://localhost:8080", "/"),
        ("HTTP://localhost:8080?x", "/?x"), ("http://localhost:8080//a", "//a"),
    ])
    func `is a path although an absolute one came`(_ text: String, _ expected: String) throws {
        #expect(try target(text, to: "https://api.example") == expected)
    }

    @Test func `is a path behind a prefix in an absolute one`() throws {
        let sent = try target("http://localhost:8080/github?x", path: "/github", to: "https://a/b")
        #expect(sent == "/b?x")
    }

    @Test func `is an asterisk where the server is meant`() throws {
        #expect(try target("*", to: "https://a", method: "OPTIONS") == "*")
        #expect(try target("http://localhost:8080", to: "https://a", method: "OPTIONS") == "*")
        #expect(try target("http://localhost:8080/", to: "https://a", method: "OPTIONS") == "/")
    }
}

@Suite struct `Route's verdict` {
    private func verdict(_ text: String, _ spec: RouteSpec) throws -> RouteVerdict {
        let plan = try RouteTable([spec]).routes[0].plan
        return try withRequest(text) { plan.judge($0, $1, $2) }
    }

    @Test(arguments: [
        "/x/../../admin", "/..", "/../", "/a/../../b", "/%2e%2e/x", "/.%2E/x", "/a/%2E./../x",
        "/a/..%2f../x", "/..\\x", "/a%5c..%5C..", "//..", "/a/./../..",
        "/..;/x", "/..;a=b/admin", "/%2e%2e;/x", "/a/..;/..;/x", "/..%3b/x", "/;/..",
        "/a;b/..;c/..",
        "/%252e%252e/x", "/%25252e./x", "/%%32e%%32e/x", "/%c0%ae%c0%ae/x", "/%e0%80%ae./x",
        "/..%c0%afx", "/..%252fx", "/a%2fb/../../x", "/a%5cb\\c/../../x", "/..%00/x",
    ])
    func `refuses a path that climbs out of the base path`(_ path: String) throws {
        let text = "GET \(path) HTTP/1.1\nHost: a"
        #expect(try verdict(text, .to("https://b/drive/v3")) == .refuse(.pathLeavesRoute))
        let prefixed = "GET /drive\(path)?x HTTP/1.1\nHost: a"
        #expect(
            try verdict(prefixed, .to("https://b/drive/v3", path: "/drive"))
                == .refuse(.pathLeavesRoute))
        // Without a base path there is nothing to climb out of.
        #expect(try verdict(text, .to("https://b")) == .forward(withCredential: true))
    }

    @Test(arguments: [
        "/a/../b", "/a/b/../../c", "/...", "/..a", "/a..", "/.", "/%2e", "/a?/../../..",
        "/%2F/%2f", "/a%2fb/../c", "/", "/.well-known/x",
        "/a;x/..", "/..a;/b", "/a;..", "/%2525", "/%c0/%ae", "/a%252fb/../c", "/x/%zz/..",
    ])
    func `lets a path that stays inside pass`(_ path: String) throws {
        let text = "GET \(path) HTTP/1.1\nHost: a"
        #expect(
            try verdict(text, .to("https://b/drive/v3")) == .forward(withCredential: true))
    }

    @Test(arguments: [
        (ClientFieldPolicy.replace, true, RouteVerdict.forward(withCredential: true)),
        (.replace, false, .forward(withCredential: true)),
        (.keep, true, .forward(withCredential: false)),
        (.keep, false, .forward(withCredential: true)),
        (.refuse, true, .refuse(.clientCredentialRefused)),
        (.refuse, false, .forward(withCredential: true)),
    ])
    func `obeys the policy for the client's own credential`(
        _ policy: ClientFieldPolicy, _ isSent: Bool, _ expected: RouteVerdict
    ) throws {
        for field in ["Authorization", "X-Api-Key"] {
            let credential = RouteCredential(
                slot: CredentialSlot(0), field: field, clientField: policy)
            let line = isSent ? "\n\(field.lowercased()): own" : ""
            let found = try verdict(
                "GET / HTTP/1.1\nHost: a\(line)", .to("https://b", credential: credential))
            #expect(found == expected)
        }
    }

    @Test func `keeps the client's own field when told to`() throws {
        let credential = RouteCredential(slot: CredentialSlot(0), clientField: .keep)
        let sent = try upstreamHead(
            of: "GET / HTTP/1.1\nHost: a\nauthorization: own",
            through: .to("https://b", credential: credential))
        #expect(sent == "GET / HTTP/1.1\nHost: b\nauthorization: own\n")
    }

    @Test func `asks for no credential on a route without one`() throws {
        let spec = try RouteSpec.to("https://b", credential: nil)
        #expect(try verdict("GET / HTTP/1.1\nHost: a", spec) == .forward(withCredential: false))
    }
}
