import HTTPWire
import LoopbackServer
import Support
import Synchronization
import Testing

@Suite struct `Loopback server among hostile clients` {
    /// C071.
    @Test func `silent connections hold nobody up`() async throws {
        // On a busy machine the steps of this test may lie further apart than the usual patience.
        let patient = ServerLimits(headMilliseconds: 120_000, idleMilliseconds: 120_000)
        let server = try HTTPServer(limits: patient, handler: hello)
        try await blocking {
            let silent = try (0..<20).map { _ in try RawClient(to: server.port) }
            let halting = try RawClient(to: server.port)
            try halting.send("GET / HT")
            try RawClient(to: server.port).stream.reset()
            #expect(try RawClient(to: server.port).exchange().body == "hello")
            #expect(try silent[7].exchange().body == "hello")
            try halting.send(Octets("TP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n"))
            #expect(try halting.stream.readResponse().body == "hello")
        }
    }

    @Test func `when the table is full the longest silent one goes`() async throws {
        let server = try HTTPServer(limits: ServerLimits(connectionsMax: 4), handler: hello)
        try await blocking {
            let clients = try (0..<4).map { _ in
                let client = try RawClient(to: server.port)
                try client.exchange()
                // The clock of the server counts milliseconds.
                pause(.milliseconds(2))
                return client
            }
            #expect(try RawClient(to: server.port).exchange().status == 200)
            #expect(try clients[0].stream.waitForEnd() == .closed)
            #expect(try clients[3].exchange().status == 200)
        }
    }

    @Test func `a head that takes too long is given up`() async throws {
        let server = try HTTPServer(limits: ServerLimits(headMilliseconds: 150), handler: hello)
        try await blocking {
            let silent = try RawClient(to: server.port)
            let slow = try RawClient(to: server.port)
            try slow.send("GET / HTTP/1.1\r\n")
            #expect(try slow.stream.readResponse().status == 408)
            #expect(try silent.stream.waitForEnd() == .closed)
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n",
    ])
    func `a byte now and then wins no time`(start: String) async throws {
        let limits = ServerLimits(headMilliseconds: 200, bodyMilliseconds: 200)
        let server = try HTTPServer(hosts: .any, limits: limits, handler: hello)
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(Octets(start))
            let deadline = Deadline.after(.seconds(10))
            while client.stream.heldCount == 0 && !deadline.hasPassed {
                try client.send("a")
                if try !client.stream.isQuiet(for: .milliseconds(20)) { break }
            }
            #expect(try client.stream.readResponse().status == 408)
        }
    }

    @Test func `an idle connection is closed in the end`() async throws {
        let server = try HTTPServer(limits: ServerLimits(idleMilliseconds: 100), handler: hello)
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.exchange()
            #expect(try client.stream.waitForEnd() == .closed)
        }
    }

    @Test func `a TLS handshake is noticed and closed`() async throws {
        let events = Mutex<[ServerEvent]>([])
        let server = try HTTPServer(
            onEvent: { event in events.withLock { $0.append(event) } }, handler: hello)
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}")
            _ = try client.stream.waitForEnd()
            let event = try waited(for: "the event") { events.withLock { $0.first } }
            guard case .tlsHandshake(let port) = event else {
                Issue.record("\(event)")
                return
            }
            #expect(port != 0)
        }
    }

    private static let noRequests: [(String, Int)] = [
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET http:/x HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("\u{0}", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n", 400
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n", 413),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n"
                + String(repeating: "a", count: 1_048_577), 413
        ),
        ("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 70_000), 431),
        ("GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 200) + "\r\n", 431),
    ]

    @Test(arguments: noRequests)
    func `what is no request is refused and the connection closed`(
        message: String, status: Int
    ) async throws {
        let server = try HTTPServer(hosts: .any, handler: hello)
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(Octets(message))
            let answer = try client.stream.readResponse()
            #expect(answer.status == status)
            #expect(answer.value("Connection") == "close")
            #expect(try client.stream.waitForEnd() == .closed)
        }
    }

    @Test func `a body of exactly the limit passes`() async throws {
        let server = try HTTPServer { ServerResponse(status: 200, text: "\($0.body.count)") }
        try await blocking {
            let body = Octets(repeating: 0x61, count: 1 << 20)
            let answer = try RawClient(to: server.port).exchange("POST", "/", body: body)
            #expect(answer.body == "1048576")
        }
    }

    /// C008, C112, C114.
    @Test(arguments: [
        ("/", "localhost:PORT", 200), ("/", "LOCALHOST:PORT", 200), ("/", "127.0.0.1:PORT", 200),
        ("/", "[::1]:PORT", 200), ("/", "localhost", 400), ("/", "localhost:1", 400),
        ("/", "evil.example:PORT", 400), ("/", "localhost.evil.example:PORT", 400),
        ("/", "localhost.:PORT", 400), ("/", "127.1:PORT", 400), ("/", "", 400),
        ("http://evil.example/", "localhost:PORT", 400),
        ("http://localhost:PORT/", "evil.example", 200),
    ])
    func `only names of this machine are answered`(
        target: String, host: String, status: Int
    ) async throws {
        let server = try HTTPServer(handler: hello)
        func filled(_ text: String) -> String {
            text.components(separatedBy: "PORT").joined(separator: "\(server.port)")
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            let answer = try client.exchange(
                "GET", filled(target), fields: [("Host", filled(host))])
            #expect(answer.status == status)
        }
    }

    @Test func `a slow handler or a slow reader holds nobody up`() async throws {
        let gate = Gate()
        let server = try HTTPServer { request in
            switch request.path {
            case "/slow":
                while !gate.isOpen { try? await Task.sleep(for: .milliseconds(2)) }
                return ServerResponse(status: 200, text: "slow")
            case "/large":
                return ServerResponse(status: 200, body: [UInt8](repeating: 0x61, count: 16 << 20))
            default: return ServerResponse(status: 200, text: "hello")
            }
        }
        try await blocking {
            let slow = try RawClient(to: server.port)
            try slow.send(slow.request("GET", "/slow") + slow.request("GET", "/after"))
            let large = try RawClient(to: server.port)
            try large.send(large.request("GET", "/large"))
            #expect(try RawClient(to: server.port).exchange().body == "hello")
            gate.open()
            #expect(try slow.stream.readResponse().body == "slow")
            #expect(try slow.stream.readResponse().body == "hello")
            #expect(try large.stream.readResponse().body.count == 16 << 20)
            #expect(try large.exchange().body == "hello")
        }
    }

    @Test func `stopping breaks off what runs and cancels it`() async throws {
        let started = Gate()
        let cancelled = Gate()
        let server = try HTTPServer { _ in
            started.open()
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
            cancelled.open()
            return ServerResponse(status: 200)
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(client.request())
            try started.pass()
            server.stop()
            _ = try client.stream.waitForEnd()
            try cancelled.pass()
            #expect(throws: (any Error).self) { try RawClient(to: server.port) }
        }
    }

    @Test func `an event may stop the server`() async throws {
        let held = Mutex<HTTPServer?>(nil)
        let server = try HTTPServer(
            onEvent: { _ in held.withLock { $0 }?.stop() }, handler: hello)
        held.withLock { $0 = server }
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send("\u{16}\u{3}\u{1}")
            _ = try client.stream.waitForEnd()
            await server.drain(milliseconds: 20_000)
            held.withLock { $0 = nil }
        }
    }

    @Test func `draining lets answers out and nothing new in`() async throws {
        let started = Gate()
        let gate = Gate()
        let server = try HTTPServer { _ in
            started.open()
            while !gate.isOpen { try? await Task.sleep(for: .milliseconds(2)) }
            return ServerResponse(status: 200, text: "farewell")
        }
        try await blocking {
            let idle = try RawClient(to: server.port)
            let client = try RawClient(to: server.port)
            try client.send(client.request())
            try started.pass()
            let drained = Task { await server.drain(milliseconds: 20_000) }
            _ = try idle.stream.waitForEnd()
            // A child that another test is just starting may hold the socket until it has started.
            try waited(for: "the port to be closed", within: .seconds(10)) {
                (try? RawClient(to: server.port)) == nil ? () : nil
            }
            gate.open()
            let answer = try client.stream.readResponse()
            #expect(answer.body == "farewell")
            #expect(answer.value("Connection") == "close")
            #expect(try client.stream.waitForEnd() == .closed)
            client.stream.close()
            await drained.value
            await server.drain(milliseconds: 0)
        }
    }

    @Test func `draining ends at its deadline`() async throws {
        let started = Gate()
        let server = try HTTPServer { _ in
            started.open()
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
            return ServerResponse(status: 200)
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(client.request())
            try started.pass()
            await server.drain(milliseconds: 50)
            _ = try client.stream.waitForEnd()
        }
    }

    @Test func `a client that has gone cancels its handler`() async throws {
        let started = Gate()
        let cancelled = Gate()
        let server = try HTTPServer { _ in
            started.open()
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
            cancelled.open()
            return ServerResponse(status: 200)
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(client.request())
            try started.pass()
            client.stream.reset()
            try cancelled.pass()
        }
    }
}
