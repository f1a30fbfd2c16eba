// Uploads as real clients send them (peers.md requirement 17; cases C064, C066).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 17: uploads as real clients send them` {
    private func curl(_ arguments: [String], input: Octets = "") throws -> (Octets, Duration) {
        let directory = try TemporaryDirectory()
        let start = ContinuousClock.now
        let child = try ChildProcess(
            ["/usr/bin/curl", "-sS", "--max-time", "20"] + arguments, environment: [:],
            directory: directory.path, input: input)
        #expect(try child.waitForEnd() == .exited(0), "\(child.printed(.error))")
        return (child.printed(.output), ContinuousClock.now - start)
    }

    @Test func `curl uploads with its defaults, without a stall`() throws {
        let upstream = try FakeUpstream { request in .ok(Octets("\(request.body.count)")) }
        let setup = try DirectSetup(to: upstream)
        // Two megabytes make curl 7.88 send Expect: 100-continue; -T - makes it send chunks.
        let body = Octets.pattern(count: 2 << 20)
        for arguments in [
            ["--data-binary", "@-"], ["-T", "-"], ["-T", "-", "-H", "Expect: 100-continue"],
            ["-0", "--data-binary", "@-"],
        ] {
            let (output, time) = try curl(arguments + [setup.proxy.url + "/up"], input: body)
            #expect(output == Octets("\(body.count)"), "\(arguments)")
            #expect(time < .milliseconds(900), "\(arguments) took \(time)")
            #expect(upstream.requests.last?.body == body, "\(arguments)")
        }
    }

    @Test func `a slow upload of many small writes arrives`() throws {
        let upstream = try FakeUpstream { request in .ok(request.body) }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        let request = client.request("POST", "/", body: "0123456789")
        try client.stream.writeByteByByte(request, pausing: .milliseconds(2))
        #expect(try client.stream.readResponse(to: "POST").body == "0123456789")
    }

    // MARK: Expect: 100-continue (C066)

    private static let expectation = [("Expect", "100-continue"), ("Content-Length", "3")]

    @Test func `(a) the upstream's 100 is passed on once, then its answer`() throws {
        let upstream = try FakeUpstream { connection in
            var request = try connection.expectHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            try connection.stream.readBody(of: &request)
            try connection.respond(.ok(request.body), to: request)
            connection.note(request)
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request("PUT", "/x", fields: Self.expectation))
        #expect(try client.stream.readResponse(to: "PUT", skippingInterim: false).status == 100)
        try client.send("abc")
        let response = try client.stream.readResponse(to: "PUT", skippingInterim: false)
        #expect(response.status == 200)
        #expect(response.body == "abc")
    }

    @Test func `(b) an early 401 is refreshed without the body, and no 100 comes before`() throws {
        let server = try FakeAuthorizationServer()
        let api = try FakeUpstream { connection in
            while var request = try connection.stream.readHead() {
                guard server.accepts(request) else {
                    connection.note(request)
                    var refusal = FakeResponse.invalidToken
                    refusal.closes = true
                    return try connection.respond(refusal, to: request)
                }
                try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                try connection.stream.readBody(of: &request)
                connection.note(request)
                try connection.respond(.ok(request.body), to: request)
            }
        }
        let setup = try LoginSetup(server, api)
        try setup.importLogin()
        server.revokeAccessTokens()
        let client = try setup.home.serve().connect()
        try client.send(client.request("PUT", "/x", fields: Self.expectation))
        #expect(try client.stream.readResponse(to: "PUT", skippingInterim: false).status == 100)
        try waited(for: "both attempts") { server.refreshRequests.count == 1 ? () : nil }
        try client.send("abc")
        let response = try client.stream.readResponse(to: "PUT", skippingInterim: false)
        #expect(response.status == 200)
        #expect(response.body == "abc")
    }

    @Test func `(c) 417 is relayed or asked again without the expectation`() throws {
        let upstream = try FakeUpstream { connection in
            while var request = try connection.stream.readHead() {
                if request.has("Expect") {
                    return try connection.respond(FakeResponse(417, closes: true), to: request)
                }
                try connection.stream.readBody(of: &request)
                try connection.respond(.ok(request.body), to: request)
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request("PUT", "/x", fields: Self.expectation))
        let first = try client.stream.readResponse(to: "PUT", skippingInterim: false)
        if first.status == 100 {
            try client.send("abc")
            #expect(try client.stream.readResponse(to: "PUT").body == "abc")
        } else {
            #expect(first.status == 417)
        }
    }

    @Test func `(d) a silent upstream does not keep the client from sending`() throws {
        let upstream = try FakeUpstream { request in .ok(request.body) }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request("PUT", "/x", fields: Self.expectation))
        let first = try client.stream.readResponse(
            to: "PUT", skippingInterim: false, within: .seconds(3))
        #expect(first.status == 100)
        try client.send("abc")
        let response = try client.stream.readResponse(to: "PUT", skippingInterim: false)
        #expect(response.status == 200)
        #expect(response.body == "abc")
    }

    @Test func `HTTP/1.0 clients never get a 100`() throws {
        let upstream = try FakeUpstream { connection in
            var request = try connection.expectHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            try connection.stream.readBody(of: &request)
            try connection.respond(.ok(request.body), to: request)
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(
            "PUT /x HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
        let response = try client.stream.readResponse(to: "PUT", skippingInterim: false)
        #expect(response.status == 200)
        #expect(response.body == "abc")
    }

    @Test func `a client that leaves in the middle breaks nothing`() throws {
        let upstream = try FakeUpstream { request in .ok(request.body) }
        let setup = try DirectSetup(to: upstream)
        for count in [0, 1, 2] {
            for isReset in [true, false] {
                let client = try setup.proxy.connect()
                try client.send(client.request("PUT", "/x", fields: Self.expectation))
                try client.send(Octets(repeating: 0x61, count: count))
                if isReset { client.stream.reset() } else { client.stream.close() }
            }
        }
        #expect(try setup.proxy.exchange("PUT", "/y", body: "abc").body == "abc")
        #expect(setup.proxy.child.isRunning)
        #expect(upstream.requests.map(\.target) == ["/y"])
    }

    // MARK: Early answers (C064)

    @Test(arguments: [true, false])
    func `an answer before the end of the upload reaches the client (C064)`(
        isReset: Bool
    ) throws {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectHead()
            try connection.stream.skip(64 << 10)
            try connection.respond(
                FakeResponse(413, reason: "Content Too Large", body: "too large", closes: true),
                to: request)
            // With unread bytes left, closing resets the connection.
            if !isReset { _ = try connection.stream.waitForEnd(within: .seconds(10)) }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        let fields = [("Content-Length", "104857600")]
        try client.send(client.request("POST", "/up", fields: fields))
        do {
            let block = Octets(repeating: 0x61, count: 1 << 16)
            for _ in 0..<1600 { try client.stream.write(block, within: .seconds(5)) }
        } catch is Failure {}
        let response = try client.stream.readResponse(to: "POST")
        #expect(response.status == 413)
        #expect(response.body == "too large")
    }
}
