// The token stays on its origin, whatever the client or the upstream says (peers.md requirement 20;
// cases C114, C117).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 20: the token stays on its origin` {
    private let upstream: FakeUpstream
    private let elsewhere: FakeUpstream
    private let setup: DirectSetup

    init() throws {
        let elsewhere = try FakeUpstream { _ in .ok() }
        let target = elsewhere.url
        upstream = try FakeUpstream { request in
            request.path == "/redirect"
                ? FakeResponse(307, fields: [("Location", "\(target)/stolen")]) : .ok()
        }
        self.elsewhere = elsewhere
        setup = try DirectSetup(to: upstream)
    }

    @Test(arguments: ["GET", "POST"])
    func `redirects are passed back, never followed`(method: String) throws {
        let response = try setup.proxy.exchange(method, "/redirect")
        #expect(response.status == 307)
        #expect(response.value("Location") == "\(elsewhere.url)/stolen")
        #expect(elsewhere.connectionCount == 0)
    }

    @Test func `no form of the target leads elsewhere (C114)`() throws {
        let foreign = "127.0.0.1:\(elsewhere.port)"
        let own = "127.0.0.1:\(setup.proxy.port)"
        let attempts: [(Octets, Set<Int>)] = [
            (Octets("GET http://\(foreign)/x HTTP/1.1\r\nHost: \(own)\r\n\r\n"), [421, 403]),
            (Octets("GET http://\(own)/x HTTP/1.1\r\nHost: \(foreign)\r\n\r\n"), [200]),
            (
                Octets("GET http://\(own)@\(foreign)/x HTTP/1.1\r\nHost: \(own)\r\n\r\n"),
                [400, 421, 403]
            ),
            (
                Octets("GET https://\(own)/x HTTP/1.1\r\nHost: \(own)\r\n\r\n"),
                [200, 400, 421, 403]
            ),
            (Octets("GET ftp://\(own)/x HTTP/1.1\r\nHost: \(own)\r\n\r\n"), [400, 421, 403]),
            (Octets("CONNECT \(foreign) HTTP/1.1\r\nHost: \(foreign)\r\n\r\n"), [405, 501, 421]),
            (Octets("CONNECT \(own) HTTP/1.1\r\nHost: \(own)\r\n\r\n"), [405, 501]),
            (Octets("OPTIONS * HTTP/1.1\r\nHost: \(own)\r\n\r\n"), [200, 204, 400]),
            (Octets("GET //\(foreign)/x HTTP/1.1\r\nHost: \(own)\r\n\r\n"), [200]),
            (Octets("GET @\(foreign)/x HTTP/1.1\r\nHost: \(own)\r\n\r\n"), [400]),
            (Octets("GET * HTTP/1.1\r\nHost: \(own)\r\n\r\n"), [400]),
        ]
        for (request, expected) in attempts {
            let client = try setup.proxy.connect()
            try client.send(request)
            let response = try client.stream.readResponse()
            #expect(expected.contains(response.status), "\(request)\(response)")
        }
        #expect(elsewhere.connectionCount == 0)
        for request in upstream.requests {
            #expect(request.values("Host") == ["127.0.0.1:\(upstream.port)"])
        }
    }

    @Test func `TRACE, which would show the token, is refused`() throws {
        let response = try setup.proxy.exchange("TRACE")
        #expect([405, 501].contains(response.status))
        #expect(upstream.requests.isEmpty)
    }

    @Test func `a Location that names the upstream leads back through the proxy (C117)`() throws {
        let port = SharedValue<UInt16>(0)
        let upstream = try FakeUpstream { request in
            let base = "http://127.0.0.1:\(port.value)"
            let location =
                switch request.path {
                case "/base/1": "\(base)/base/next?x=1#f"
                case "/base/2": "/base/rel"
                case "/base/3": "\(base).evil.example/base/"
                case "/base/4": "http://other.example/base/x"
                case "/base/5": "next"
                case "/base/6": "https://127.0.0.1:\(port.value)/base/n"
                default: "\(base)/elsewhere"
                }
            return FakeResponse(
                302, fields: [("Location", location), ("Link", "<\(base)/base/x>")])
        }
        port.value = upstream.port
        let setup = try DirectSetup(to: upstream, path: "/base")
        let own = setup.proxy.url
        let locations = try (1...7).map {
            try setup.proxy.exchange("GET", "/\($0)").value("Location")
        }
        #expect(locations[0] == "\(own)/next?x=1#f")
        #expect(locations[1] == "\(own)/rel" || locations[1] == "/rel")
        #expect(locations[2] == "http://127.0.0.1:\(upstream.port).evil.example/base/")
        #expect(locations[3] == "http://other.example/base/x")
        #expect(locations[4] == "next")
        #expect(locations[5] == "https://127.0.0.1:\(upstream.port)/base/n")
        // Outside the route's base path there is no local address for it.
        #expect(locations[6] == "http://127.0.0.1:\(upstream.port)/elsewhere")
    }
}
