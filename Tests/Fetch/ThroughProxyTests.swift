// Requests and dials through small scripted proxies. The names of the origins exist nowhere, so what
// works, works through the proxy.

import Bytes
import Fetch
import Support
import Testing
import Vocabulary

private let host = "api.example.test"

private func dial(
    through proxy: ForwardProxy, _ scheme: Origin.Scheme = .https,
    timeoutMilliseconds: UInt64 = 20_000
) async -> Result<Int32, DialFailure> {
    let dialler = Dialler(driver: CurlDriver(), proxy: proxy)
    return await withCheckedContinuation { continuation in
        dialler.dial(
            DialTarget(Origin(scheme: scheme, host: host, port: 8443)),
            timeoutMilliseconds: timeoutMilliseconds
        ) { continuation.resume(returning: $0) }
    }
}

/// Reads a greeting that the far end sends, and answers it.
private func talk(over descriptor: Int32) async throws {
    try await elsewhere {
        let stream = SocketStream(adopting: descriptor)
        #expect(try stream.read(7) == "far end")
        try stream.write("near end")
        #expect(try stream.waitForEnd() == .closed)
    }
}

@Suite(.serialized) struct `Through an HTTP proxy` {
    @Test(arguments: [Origin.Scheme.http, .https])
    func `a dial is tunnelled`(scheme: Origin.Scheme) async throws {
        let proxy = try FakeUpstream { connection in
            connection.note(try connection.expectHead())
            // What the far end says at once must not get lost behind the proxy's answer.
            try connection.write("HTTP/1.1 200 Connection established\r\n\r\nfar end")
            #expect(try connection.stream.read(8) == "near end")
        }
        let forward = try ForwardProxy.everything(
            through: "http://us%40er:pass@127.0.0.1:\(proxy.port)")
        try await talk(over: dial(through: forward, scheme).get())
        let request = try #require(proxy.requests.first)
        #expect(request.startLine == "CONNECT \(host):8443 HTTP/1.1")
        #expect(request.value("Host") == "\(host):8443")
        #expect(request.value("Proxy-Authorization") == "Basic dXNAZXI6cGFzcw==")
    }

    @Test(
        arguments: [
            (
                "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
                "wants another user and password"
            ),
            ("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", "answered CONNECT with 403"),
            ("HTTP/1.1 502 No\r\n\r\n", "answered CONNECT with 502"), ("", "broke off"),
            ("HTTP/1.1 20", "broke off"), ("SSH-2.0-OpenSSH_9\r\n", "broke off"),
        ] as [(Octets, String)])
    func `a tunnel that is refused`(answer: Octets, reason: String) async throws {
        let proxy = try FakeUpstream { connection in
            _ = try connection.expectHead()
            try connection.write(answer)
        }
        let address = "http://127.0.0.1:\(proxy.port)"
        let forward = try ForwardProxy.everything(through: address)
        #expect(
            await dial(through: forward) == .failure(.forwardProxy("\(address) \(reason)")))
        let failure = await CurlFetcher(proxy: forward).failure(of: .get("https://\(host)/"))
        #expect(failure == .forwardProxyFailed(reason: "\(address) \(reason)"))
        #expect(failure?.mayHaveArrived == false)
        #expect(proxy.connectionCount >= 1)
    }

    @Test func `a proxy that is not there`() async throws {
        let address = "http://127.0.0.1:\(try refusingPort())"
        let forward = try ForwardProxy.everything(through: address)
        #expect(
            await dial(through: forward) == .failure(.forwardProxy("cannot connect to \(address)")))
        #expect(
            await CurlFetcher(proxy: forward).failure(of: .get("http://\(host)/"))
                == .forwardProxyFailed(reason: "cannot connect to \(address)"))
        let name = String(repeating: "a", count: 64)
        let nameless = try ForwardProxy.everything(through: "http://\(name):1")
        #expect(
            await dial(through: nameless)
                == .failure(.forwardProxy("the name of http://\(name):1 cannot be resolved")))
    }

    @Test func `a proxy that says nothing`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let proxy = try FakeUpstream { connection in
            _ = try connection.expectHead()
            try gate.pass()
        }
        let forward = try ForwardProxy.everything(through: "http://127.0.0.1:\(proxy.port)")
        #expect(await dial(through: forward, timeoutMilliseconds: 200) == .failure(.timedOut))
        let request = OutboundRequest.get("https://\(host)/", timeoutMilliseconds: 200)
        #expect(
            await CurlFetcher(proxy: forward).failure(of: request)
                == .timedOut(mayHaveArrived: false))
        #expect(proxy.connectionCount >= 1)
    }

    @Test func `a plain request is handed to the proxy whole`() async throws {
        let proxy = try FakeUpstream(answering: { _ in .ok("by proxy") })
        let forward = try ForwardProxy.everything(through: "127.0.0.1:\(proxy.port)")
        let answer = try await CurlFetcher(proxy: forward).fetch(.get("http://\(host)/x?y"))
        #expect(answer.body.octets == "by proxy")
        #expect(proxy.requests.first?.startLine == "GET http://\(host)/x?y HTTP/1.1")
    }

    @Test func `a plain request that the proxy wants a password for`() async throws {
        let proxy = try FakeUpstream(answering: { _ in FakeResponse(407) })
        let forward = try ForwardProxy.everything(through: "127.0.0.1:\(proxy.port)")
        let failure = await CurlFetcher(proxy: forward).failure(of: .get("http://\(host)/"))
        guard case .forwardProxyFailed = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(proxy.connectionCount >= 1)
    }

    @Test func `this machine is reached without it`() async throws {
        let proxy = try FakeUpstream(answering: { _ in .ok("by proxy") })
        let server = try FakeUpstream(answering: { _ in .ok("directly") })
        let forward = try ForwardProxy.everything(through: "http://127.0.0.1:\(proxy.port)")
        for host in ["127.0.0.1", "localhost"] {
            let answer = try await CurlFetcher(proxy: forward)
                .fetch(.get("http://\(host):\(server.port)/"))
            #expect(answer.body.octets == "directly")
        }
        #expect(proxy.connectionCount == 0)
    }
}

@Suite(.serialized) struct `Through a SOCKS proxy` {
    /// RFC 1928 with RFC 1929 where a password is wanted; then the far end itself.
    private static func accept(_ connection: FakeConnection, reply: UInt8 = 0) throws -> Octets {
        let stream = connection.stream
        let greeting = try stream.read(2)
        #expect(greeting.bytes[0] == 5)
        let methods = try stream.read(Int(greeting.bytes[1]))
        if methods.bytes.contains(2) {
            try connection.write("\u{5}\u{2}")
            let user = try stream.read(2).bytes
            #expect(try stream.read(Int(user[1])) == "user")
            let count = try stream.read(1).bytes[0]
            #expect(try stream.read(Int(count)) == "pass")
            try connection.write("\u{1}\u{0}")
        } else {
            try connection.write("\u{5}\u{0}")
        }
        #expect(try stream.read(4) == "\u{5}\u{1}\u{0}\u{3}")
        let name = try stream.read(Int(try stream.read(1).bytes[0]))
        let port = try stream.read(2)
        try connection.write(Octets([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        return name + ":\(Int(port.bytes[0]) << 8 | Int(port.bytes[1]))"
    }

    @Test(arguments: ["", "user:pass@"])
    func `a dial is tunnelled and the name left to the proxy`(user: String) async throws {
        let proxy = try FakeUpstream { connection in
            #expect(try Self.accept(connection) == "api.example.test:8443")
            try connection.write("far end")
            #expect(try connection.stream.read(8) == "near end")
        }
        let forward = try ForwardProxy.everything(
            through: "socks5h://\(user)127.0.0.1:\(proxy.port)")
        try await talk(over: dial(through: forward).get())
        #expect(proxy.failures.isEmpty)
    }

    @Test func `a request goes the same way`() async throws {
        let proxy = try FakeUpstream { connection in
            #expect(try Self.accept(connection) == "api.example.test:80")
            try connection.serve { _ in .ok("by proxy") }
        }
        let forward = try ForwardProxy.everything(through: "socks5h://127.0.0.1:\(proxy.port)")
        let answer = try await CurlFetcher(proxy: forward).fetch(.get("http://\(host)/"))
        #expect(answer.body.octets == "by proxy")
        #expect(proxy.requests.first?.startLine == "GET / HTTP/1.1")
    }

    @Test func `a connection that the proxy cannot make`() async throws {
        let proxy = try FakeUpstream { connection in _ = try Self.accept(connection, reply: 5) }
        let forward = try ForwardProxy.everything(through: "socks5h://127.0.0.1:\(proxy.port)")
        guard case .failure(.forwardProxy(let reason)) = await dial(through: forward) else {
            Issue.record("no failure of the proxy's")
            return
        }
        #expect(reason.contains("socks5h://127.0.0.1:\(proxy.port)"))
        let failure = await CurlFetcher(proxy: forward).failure(of: .get("http://\(host)/"))
        guard case .forwardProxyFailed = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(proxy.connectionCount >= 1)
    }
}
