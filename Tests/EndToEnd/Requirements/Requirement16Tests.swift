// Streaming both ways (peers.md requirement 16; cases C017, C018, C127 as far as HTTP/1.1 goes, C130).

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Requirement 16: streaming both ways` {
    @Test(arguments: [true, false])
    func `head and events arrive while the upstream holds back the next (C017)`(
        isChunked: Bool
    ) throws {
        let (afterHead, afterFirst) = (Gate(), Gate())
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                Octets(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                        + (isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n")))
            try afterHead.pass()
            let send = { (event: Octets) in
                try connection.write(isChunked ? .chunk(event) : event)
            }
            try send("data: 12345\n\n")
            try afterFirst.pass()
            try send("data: 2\n\n")
            if isChunked { try connection.write("0\r\n\r\n") }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        // Each of these waits would end at its deadline, were anything held back.
        let head = try #require(try client.stream.readHead(within: .seconds(5)))
        #expect(head.value("Content-Type") == "text/event-stream")
        #expect(try client.stream.isQuiet(for: .milliseconds(100)))
        afterHead.open()
        #expect(try client.stream.readChunk(within: .seconds(5)) == "data: 12345\n\n")
        #expect(try client.stream.isQuiet(for: .milliseconds(100)))
        afterFirst.open()
        #expect(try client.stream.readChunk(within: .seconds(5)) == "data: 2\n\n")
        #expect(try client.stream.readChunk(within: .seconds(5)) == nil)
    }

    @Test func `events take no longer than fifty milliseconds in the median (C017)`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while let ping = try connection.stream.readChunk() {
                try connection.write(.chunk(ping))
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        // A request body that goes on while the response does.
        try client.send(client.request("POST", "/", fields: [("Transfer-Encoding", "chunked")]))
        var times: [Duration] = []
        for number in 0..<21 {
            let start = ContinuousClock.now
            try client.send(.chunk(Octets("ping \(number)")))
            if number == 0 { _ = try client.stream.readHead() }
            _ = try client.stream.readChunk()
            times.append(ContinuousClock.now - start)
        }
        #expect(times.sorted()[10] < .milliseconds(50), "\(times)")
    }

    @Test func `a quiet stream stays up, also beyond the token's life (C018)`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.accessSeconds = 2
        let server = try FakeAuthorizationServer(policy)
        let api = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                guard server.accepts(request) else {
                    try connection.respond(.invalidToken, to: request)
                    continue
                }
                try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                pause(.seconds(6))
                try connection.write(.chunk(":\n") + "0\r\n\r\n")
            }
        }
        let setup = try LoginSetup(
            server, api, settings: ["timeouts: { response_head: 3s, client_idle: 2s }"])
        try setup.importLogin()
        let client = try setup.home.serve().connect()
        let response = try client.exchange("GET", "/events")
        #expect(response.status == 200)
        #expect(response.body == ":\n")
    }

    /// Large enough that buffering would show, small enough for a debug build.
    private static let count = 160 << 20

    @Test func `a large download stays out of memory and arrives whole`() throws {
        let block = Octets.pattern(count: 1 << 18)
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                Octets("HTTP/1.1 200 OK\r\nContent-Length: \(Self.count)\r\n\r\n"))
            for _ in 0..<(Self.count / block.count) { try connection.write(block) }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect(receiveBufferBytes: 65_536)
        try client.send(client.request())
        let head = try #require(try client.stream.readHead())
        #expect(head.value("Content-Length") == "\(Self.count)")
        for index in 0..<(Self.count / block.count) {
            let received = try client.stream.read(block.count)
            if received != block { Issue.record("block \(index) differs") }
            // A slow reader at first: what the proxy may not hold stays with the upstream.
            if index < 10 { pause(.milliseconds(20)) }
        }
        #expect(try Sanitizer.isOn || setup.proxy.child.memoryKibibytes("VmHWM") < 64 << 10)
    }

    @Test(arguments: [true, false])
    func `a large upload stays out of memory and arrives whole`(isChunked: Bool) throws {
        let block = Octets.pattern(count: 1 << 18)
        let upstream = try FakeUpstream { connection in
            let head = try connection.expectHead()
            var received = 0
            pause(.milliseconds(300))
            while received < Self.count {
                if isChunked {
                    guard let chunk = try connection.stream.readChunk() else { break }
                    received += chunk.count
                } else {
                    try connection.stream.skip(1 << 20)
                    received += 1 << 20
                }
            }
            if isChunked { _ = try connection.stream.read(through: "\r\n\r\n") }
            try connection.respond(.ok(Octets("\(received)")), to: head)
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        let framing =
            isChunked
            ? ("Transfer-Encoding", "chunked") : ("Content-Length", "\(Self.count)")
        try client.send(client.request("POST", "/", fields: [framing]))
        for _ in 0..<(Self.count / block.count) {
            try client.stream.write(isChunked ? .chunk(block) : block, within: .seconds(60))
        }
        if isChunked { try client.send("0\r\n\r\n") }
        let response = try client.stream.readResponse(to: "POST", within: .seconds(60))
        #expect(response.body == Octets("\(Self.count)"))
        #expect(try Sanitizer.isOn || setup.proxy.child.memoryKibibytes("VmHWM") < 64 << 10)
    }

    @Test func `a reader that stops holds nobody else back (C127)`() throws {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            guard request.path == "/large" else {
                return try connection.respond(.ok(), to: request)
            }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
            let block = Octets.pattern(count: 1 << 16)
            do {
                while true { try connection.stream.write(block, within: .seconds(60)) }
            } catch Failure.reset {}
        }
        let setup = try DirectSetup(to: upstream)
        let stopped = try (0..<8).map { _ in
            let client = try setup.proxy.connect(receiveBufferBytes: 8192)
            try client.send(client.request("GET", "/large"))
            _ = try client.stream.readHead()
            return client
        }
        for _ in 0..<20 {
            let start = ContinuousClock.now
            #expect(try setup.proxy.exchange("GET", "/small").body == "ok")
            #expect(ContinuousClock.now - start < .seconds(3))
        }
        #expect(try Sanitizer.isOn || setup.proxy.child.memoryKibibytes("VmHWM") < 64 << 10)
        for client in stopped { client.stream.reset() }
    }

    @Test(arguments: ["reset", "close"])
    func `a client that hangs up ends the upstream's work within a second (C130)`(
        ending: String
    ) throws {
        let ended = SharedValue<SocketStream.Ending?>(nil)
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            // Something to write, so that a closed client shows.
            do {
                for _ in 0..<400 {
                    try connection.write(.chunk("tick"))
                    if try !connection.stream.isQuiet(for: .milliseconds(25)) { break }
                }
                ended.value = .closed
            } catch Failure.reset {
                ended.value = .reset
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        _ = try client.stream.readHead()
        if ending == "reset" { client.stream.reset() } else { client.stream.close() }
        try waited(for: "the end upstream", within: .seconds(2)) { ended.value == nil ? nil : () }
    }

    @Test func `a reset before the head ends the upstream's work too (C130)`() throws {
        let ended = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            _ = try connection.stream.waitForEnd(within: .seconds(30))
            ended.open()
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        try upstream.waitForRequests(1)
        client.stream.reset()
        try ended.pass(within: .seconds(2))
    }

    @Test func `a client that only half-closes gets its answer (C130)`() throws {
        let gate = Gate()
        let upstream = try FakeUpstream { _ in
            try gate.pass()
            return .ok("late")
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        try client.stream.halfClose()
        try upstream.waitForRequests(1)
        gate.open()
        #expect(try client.stream.readResponse().body == "late")
    }

    @Test func `nothing is sent again once a response byte was passed on`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal")
            connection.stream.reset()
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        let answer = (try? client.stream.readToEnd()) ?? ""
        #expect(!answer.contains("\r\n\r\nhalf"))
        #expect(upstream.requests.count == 1)
    }
}
