// Header policy: what of the client's head reaches the upstream, and of the upstream's the client
// (peers.md requirement 19; cases C012, C025, C028, C051, C069).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 19: header policy` {
    private let upstream: FakeUpstream
    private let setup: DirectSetup
    private let client: RawClient

    init() throws {
        upstream = try FakeUpstream { request in
            switch request.path {
            case "/cookies":
                FakeResponse(fields: [
                    ("Set-Cookie", "sid=1; Path=/"),
                    ("Set-Cookie", "old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"),
                    ("Vary", "A"), ("Vary", "B"), ("X-Empty", ""),
                ])
            case "/latin1":
                FakeResponse(fields: [
                    ("Content-Disposition", "attachment; filename=\"caf\u{E9}.txt\""),
                    ("Set-Cookie", "n=\u{FF}\u{FE}; Path=/"),
                ])
            case "/hop":
                FakeResponse(fields: [
                    ("Connection", "X-Secret-Hop, keep-alive"), ("X-Secret-Hop", "1"),
                    ("Keep-Alive", "timeout=5"), ("Proxy-Authenticate", "Basic"),
                    ("Upgrade", "h2c"), ("X-Kept", "1"),
                ])
            default: .ok()
            }
        }
        setup = try DirectSetup(to: upstream)
        client = try setup.proxy.connect()
    }

    private func forwarded(_ fields: [(String, String)]) throws -> HTTPMessage {
        #expect(try client.exchange("GET", "/", fields: fields).status == 200)
        return try #require(upstream.requests.last)
    }

    @Test func `every spelling of the client's Authorization is replaced by ours (C012)`() throws {
        let request = try forwarded([
            ("authorization", "Bearer dummy"), ("AUTHORIZATION", "Basic Zm9vOmJhcg=="),
        ])
        #expect(request.values("Authorization") == [DirectSetup.authorization])
    }

    @Test(arguments: ["authorization", "Authorization, close-not", "AUTHORIZATION"])
    func `naming Authorization in Connection does not take ours away`(names: String) throws {
        let request = try forwarded([("Connection", names)])
        #expect(request.values("Authorization") == [DirectSetup.authorization])
    }

    @Test func `hop-by-hop fields and those named by Connection are dropped (C051)`() throws {
        let request = try forwarded([
            ("Connection", "Upgrade, HTTP2-Settings"), ("Connection", "X-Named"),
            ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA"),
            ("X-Named", "1"), ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "keep-alive"),
            ("Proxy-Authorization", "Basic Zm9vOmJhcg=="), ("TE", "gzip"), ("X-Kept", "1"),
        ])
        for name in [
            "Upgrade", "HTTP2-Settings", "X-Named", "Keep-Alive", "Proxy-Connection",
            "Proxy-Authorization", "TE",
        ] {
            #expect(!request.has(name), "\(name) was forwarded")
        }
        #expect(request.values("X-Kept") == ["1"])
        #expect(!request.values("Connection").joined().lowercased().contains("upgrade"))
    }

    @Test func `hop-by-hop fields of the upstream are dropped`() throws {
        let response = try client.exchange("GET", "/hop")
        for name in ["X-Secret-Hop", "Keep-Alive", "Proxy-Authenticate", "Upgrade"] {
            #expect(!response.has(name), "\(name) was forwarded")
        }
        #expect(response.values("X-Kept") == ["1"])
    }

    @Test func `repeated fields stay repeated and in order (C025)`() throws {
        let response = try client.exchange("GET", "/cookies")
        #expect(
            response.values("Set-Cookie") == [
                "sid=1; Path=/", "old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            ])
        #expect(response.values("Vary") == ["A", "B"])
        #expect(response.values("X-Empty") == [""])
        let request = try forwarded([("X-A", "1"), ("X-B", "2"), ("x-a", "3"), ("X-A", "")])
        #expect(request.values("X-A") == ["1", "3", ""])
        #expect(request.head.contains("x-a: 3\r\n"), "the name's spelling is the client's")
    }

    @Test func `bytes beyond ASCII pass both ways (C028)`() throws {
        let request = try forwarded([("X-Name", "Andr\u{E9}")])
        #expect(request.head.contains("X-Name: Andr\u{E9}\r\n"))
        let response = try client.exchange("GET", "/latin1")
        #expect(response.head.contains("filename=\"caf\u{E9}.txt\"\r\n"))
        #expect(response.head.contains("Set-Cookie: n=\u{FF}\u{FE}; Path=/\r\n"))
    }

    @Test func `Host names the upstream`() throws {
        let request = try forwarded([])
        #expect(request.values("Host") == ["127.0.0.1:\(upstream.port)"])
    }

    @Test func `nothing that identifies the client is added`() throws {
        let request = try forwarded([])
        #expect(!request.has("X-Forwarded-For"))
        #expect(!request.has("Forwarded"))
    }

    @Test func `large tokens, cookies and answers pass by default (C069)`() throws {
        let token = String(repeating: "t0K", count: 4667)
        let upstream = try FakeUpstream { request in
            FakeResponse(
                fields: (0..<14).map {
                    ("Set-Cookie", "c\($0)=" + String(repeating: "v", count: 4096))
                })
        }
        let setup = try DirectSetup(to: upstream, token: token)
        let cookie = String(repeating: "c", count: 7000)
        let response = try setup.proxy.exchange("GET", "/", fields: [("Cookie", cookie)])
        #expect(response.status == 200)
        #expect(response.values("Set-Cookie").count == 14)
        #expect(try upstream.requests.item(0).values("Authorization") == ["Bearer \(token)"])
        #expect(try upstream.requests.item(0).values("Cookie") == [cookie])
    }
}

@Suite(.ownThread) struct `Requirement 19: options` {
    private let upstream: FakeUpstream

    init() throws { upstream = try FakeUpstream { _ in .ok() } }

    private func setup(_ credential: [String], _ settings: [String] = []) throws -> ProxyProcess {
        let home = try ProxyHome()
        let file = try home.directory.write("canary-option-token", to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url,
                credential: ["token: { file: \(YAML.quoted(file)) }"] + credential,
                settings: settings))
        homes.append(home)
        return try home.serve()
    }

    private final class Homes {
        var all: [ProxyHome] = []
        func append(_ home: ProxyHome) { all.append(home) }
    }
    private let homes = Homes()

    @Test func `the client's own may be kept`() throws {
        let proxy = try setup([], ["client_authorization: keep"])
        _ = try proxy.exchange("GET", "/", fields: [("Authorization", "Basic Zm9vOmJhcg==")])
        _ = try proxy.exchange()
        #expect(
            upstream.requests.map { $0.values("Authorization") } == [
                ["Basic Zm9vOmJhcg=="], ["Bearer canary-option-token"],
            ])
    }

    @Test func `the client's own may be refused`() throws {
        let proxy = try setup([], ["client_authorization: refuse"])
        let response = try proxy.exchange("GET", "/", fields: [("Authorization", "Basic Zm9v")])
        #expect(response.status == 403 || response.status == 400)
        #expect(response.has("Proxy-Status"))
        #expect(upstream.requests.isEmpty)
        #expect(try proxy.exchange().status == 200)
    }

    @Test func `name and prefix of the field are configurable`() throws {
        let proxy = try setup(["header: X-Api-Key", "prefix: \"\""])
        let response = try proxy.exchange(
            "GET", "/", fields: [("x-api-key", "client's"), ("Authorization", "Basic Zm9v")])
        #expect(response.status == 200)
        let request = try #require(upstream.requests.first)
        #expect(request.values("X-Api-Key") == ["canary-option-token"])
    }
}
