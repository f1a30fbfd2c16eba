import HTTPWire
import Routing
import Testing
import Vocabulary

@Suite struct `Routes of listeners` {
    @Test func `are looked up among their own`() throws {
        var own = try RouteSpec.to("https://a.example", path: "/x")
        own.listeners = [1]
        let other = try RouteSpec.to("https://b.example", path: "/y")
        var twin = try RouteSpec.to("https://c.example", path: "/x")
        twin.listeners = [0, 2]
        let table = try RouteTable([own, other, twin], listeners: 3)
        for (listener, path, expected) in [
            (0, "/x", 2), (1, "/x/1", 0), (2, "/x", 2), (0, "/y", 1), (1, "/y", 1),
        ] {
            let found = try withRequest("GET \(path) HTTP/1.1\nHost: localhost") {
                table.match($0, $1, $2, listener: listener)
            }
            #expect(found == expected)
        }
        #expect(throws: RouteError.overlap(route: 1, with: 0)) {
            try RouteTable([twin, twin], listeners: 3)
        }
    }
}

@Suite struct `Route table` {
    private func table(_ places: [(host: String?, path: String)]) throws -> RouteTable {
        try RouteTable(places.map { try .to("https://api.example", path: $0.path, host: $0.host) })
    }

    private func match(_ table: RouteTable, _ host: String, _ path: String) -> Int? {
        var host = host
        var path = path
        return host.withUTF8 { host in
            path.withUTF8 { table.match(host: .init(host), path: .init($0)) }
        }
    }

    @Test(arguments: [
        ("/github", 0), ("/github/", 0), ("/github/repos", 0), ("/github//x", 0),
        ("/githubx", nil), ("/GitHub", nil), ("/git", nil), ("/", nil), ("", nil),
        ("/github%2Frepos", nil), ("/%67ithub", nil),
    ])
    func `a prefix ends where a segment ends`(_ path: String, _ route: Int?) throws {
        let table = try table([(nil, "/github")])
        #expect(match(table, "localhost", path) == route)
    }

    @Test(arguments: [
        ("/a/b/c/d", 2), ("/a/b/c", 2), ("/a/b/cd", 1), ("/a/b", 1), ("/a/x/c", 0), ("/a", 0),
        ("/x", 3), ("/", 3), ("", 3),
    ])
    func `the longest prefix wins`(_ path: String, _ route: Int?) throws {
        let table = try table([(nil, "/a"), (nil, "/a/b"), (nil, "/a/b/c"), (nil, "/")])
        #expect(match(table, "localhost", path) == route)
    }

    @Test func `a route of the host comes before a longer prefix of any host`() throws {
        let table = try table([
            (nil, "/v1/files"), ("files.localhost", ""), ("files.localhost", "/v1"), (nil, ""),
        ])
        #expect(match(table, "files.localhost", "/v1/files") == 2)
        #expect(match(table, "FILES.localhost", "/v2") == 1)
        #expect(match(table, "other.localhost", "/v1/files") == 0)
        #expect(match(table, "other.localhost", "/v2") == 3)
    }

    @Test func `a host whose own routes do not fit falls back to the rest`() throws {
        let table = try table([("files.localhost", "/v1"), (nil, "/v2")])
        #expect(match(table, "files.localhost", "/v2/x") == 1)
        #expect(match(table, "files.localhost", "/v3") == nil)
    }

    @Test func `a slash at the end of a prefix means nothing`() throws {
        let table = try table([(nil, "/api/")])
        #expect(match(table, "localhost", "/api") == 0)
        #expect(match(table, "localhost", "/api/x") == 0)
    }

    @Test func `ten thousand routes are told apart`() throws {
        let table = try table((0..<10_000).map { (nil, "/team\($0 / 100)/service\($0 % 100)") })
        for route in stride(from: 0, to: 10_000, by: 37) {
            #expect(
                match(table, "localhost", "/team\(route / 100)/service\(route % 100)/x") == route)
        }
        #expect(match(table, "localhost", "/team1/service100") == nil)
    }

    @Test(arguments: [
        ("GET /github/x HTTP/1.1\nHost: localhost:8080", 1),
        ("GET /github?next=/other HTTP/1.1\nHost: localhost:8080", 1),
        ("GET /v1 HTTP/1.1\nHost: files.localhost:8080", 2),
        ("GET http://files.localhost:8080/v1 HTTP/1.1\nHost: localhost:8080", 2),
        ("GET http://localhost:8080 HTTP/1.1\nHost: files.localhost:8080", 0),
        ("GET http://localhost:8080?x HTTP/1.1\nHost: localhost:8080", 0),
        ("GET /v1 HTTP/1.0", 0),
        ("OPTIONS * HTTP/1.1\nHost: localhost:8080", 0),
        ("OPTIONS * HTTP/1.1\nHost: files.localhost:8080", 0),
    ])
    func `a request is matched by its authority and path`(
        _ text: String, _ route: Int?
    ) throws {
        let table = try RouteTable([
            .to("https://api.example"), .to("https://api.github.com", path: "/github"),
            .to("https://www.googleapis.com/drive/v3", host: "files.localhost"),
        ])
        let found = try withRequest(text) { table.match($0, $1, $2) }
        #expect(found == route)
    }

    @Test func `the whole server is not asked for through a base path`() throws {
        let table = try RouteTable([.to("https://www.googleapis.com/drive/v3")])
        let found = try withRequest("OPTIONS * HTTP/1.1\nHost: a") { table.match($0, $1, $2) }
        #expect(found == nil)
    }

    @Test func `two routes with one place are refused`() throws {
        #expect(throws: RouteError.overlap(route: 2, with: 0)) {
            try table([(nil, "/api"), ("a.localhost", "/api"), (nil, "/api/")])
        }
        #expect(throws: RouteError.overlap(route: 1, with: 0)) {
            try table([("a.localhost", ""), ("A.localhost", "/")])
        }
    }

    @Test(arguments: [
        "api", "/a b", "/a/../b", "/a/%2e%2E/b", "/a?x", "/a#x", "/caf\u{e9}", "/%zz",
    ])
    func `a prefix that is no plain path is refused`(_ path: String) throws {
        #expect(throws: RouteError.pathInvalid(route: 0, path: path)) {
            try table([(nil, path)])
        }
    }

    @Test func `routes to one origin share an upstream`() throws {
        var trusted = try RouteSpec.to("https://api.example/v2", path: "/c")
        trusted.caFile = "/etc/ca.pem"
        let table = try RouteTable([
            .to("https://api.example/v1", path: "/a"), .to("https://api.example:443", path: "/b"),
            trusted, .to("http://localhost:3000", path: "/d"),
        ])
        #expect(table.routes.map(\.upstream) == [0, 0, 1, 2])
        #expect(
            table.upstreams.map(\.origin.description) == [
                "https://api.example", "https://api.example", "http://localhost:3000",
            ])
    }

    @Test func `a worker's own table finds the same routes`() throws {
        let table = try table([(nil, "/a"), (nil, "/b")]).unshared()
        #expect(match(table, "localhost", "/b/x") == 1)
    }
}
