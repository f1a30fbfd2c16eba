// Many clients, and slow ones, before the real binary (expectation 28 of peers.md): memory stays bounded, the
// others are served, nothing is left afterwards.

import Glibc
import Support
import Testing

@Suite(.ownThread, .serialized) struct `Crowds of clients` {
    private static func request(_ port: UInt16, _ path: String = "/") -> Octets {
        Octets("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
    }

    @Test func `that wait cost a few kilobytes each, and delay nobody`() throws {
        let count = Soak.times(1000, soaking: 10_000)
        try Crowd.allow(count + 1000)
        let upstream = try FakeUpstream { _ in .ok("served") }
        let setup = try DirectSetup(to: upstream)
        let port = setup.proxy.port
        for _ in 0..<50 { _ = try setup.proxy.exchange() }
        let before = try setup.proxy.child.memoryKibibytes("VmRSS")
        let crowd = Crowd()
        for index in 0..<count {
            try crowd.join(port)
            try crowd.send(Self.request(port), from: index)
            #expect(try crowd.receive(upTo: "served", at: index).hasPrefix("HTTP/1.1 200"))
        }
        let growth = try setup.proxy.child.memoryKibibytes("VmRSS") - before
        #expect(
            Sanitizer.isOn || growth < 4 * count + 4096,
            "\(count) idle connections take \(growth) KiB")
        let start = ContinuousClock.now
        for _ in 0..<20 { #expect(try setup.proxy.exchange().body == "served") }
        #expect(ContinuousClock.now - start < .seconds(10))
        // All of them are still there.
        for index in stride(from: 0, to: count, by: 37) {
            try crowd.send(Self.request(port), from: index)
            #expect(try crowd.receive(upTo: "served", at: index).hasPrefix("HTTP/1.1 200"))
        }
        print("crowd: \(count) idle connections take \(growth) KiB")
    }

    @Test func `that are all active at once are all served`() throws {
        let count = Soak.times(200, soaking: 2000)
        try Crowd.allow(4 * count + 500)
        let gate = Gate()
        let upstream = try FakeUpstream { request in
            try gate.pass()
            return .ok(Octets("answer to \(request.target)!"))
        }
        let setup = try DirectSetup(to: upstream)
        let port = setup.proxy.port
        let crowd = Crowd()
        for index in 0..<count {
            try crowd.join(port)
            try crowd.send(Self.request(port, "/\(index)"), from: index)
        }
        try gate.waitForArrivals(count)
        gate.open()
        for index in 0..<count {
            let answer = try crowd.receive(upTo: "!", at: index)
            #expect(answer.hasSuffix(Octets("answer to /\(index)!")))
        }
        let memory = try setup.proxy.child.memoryKibibytes("VmHWM")
        print("crowd: \(count) active connections, \(memory) KiB at the most")
    }

    @Test func `that open stream after stream on one connection leave nothing behind`() throws {
        let count = Soak.times(5000, soaking: 100_000)
        let upstream = try FakeUpstream { _ in .ok("served") }
        let setup = try DirectSetup(to: upstream)
        let client = try HTTP2Peer.client(to: setup.proxy.port)
        let authority = "127.0.0.1:\(setup.proxy.port)"
        var before = 0
        var done = 0
        while done < count {
            let streams = (0..<100).map { _ in client.request("GET", "/", authority: authority) }
            try client.run(within: .seconds(60)) { streams.allSatisfy { client[$0].isWhole } }
            #expect(streams.allSatisfy { client[$0].body == "served" })
            done += streams.count
            if done == 1000 { before = try setup.proxy.child.memoryKibibytes("VmRSS") }
        }
        let growth = try setup.proxy.child.memoryKibibytes("VmRSS") - before
        #expect(Sanitizer.isOn || growth < 4096, "\(count) streams leave \(growth) KiB")
        print("crowd: \(count) streams on one connection leave \(growth) KiB")
    }

    @Test func `that are slow hold their own requests up, and nothing else`() throws {
        let count = 100
        let big = Octets.pattern(count: 8 << 20)
        let upstream = try FakeUpstream { request in
            request.target == "/big" ? .ok(big) : .ok(Octets("\(request.body.count) bytes."))
        }
        let setup = try DirectSetup(to: upstream, settings: ["timeouts: { client_head: 1s }"])
        let port = setup.proxy.port
        for _ in 0..<20 { _ = try setup.proxy.exchange("GET", "/big") }
        let before = try setup.proxy.child.memoryKibibytes("VmRSS")
        // Heads that never end, bodies that drip, answers that nobody reads.
        let heads = Crowd()
        let bodies = Crowd()
        let readers = Crowd()
        for index in 0..<count {
            try heads.join(port)
            try heads.send("GET / HTTP/1.1\r\nX-A: ", from: index)
            try bodies.join(port)
            try bodies.send(
                Octets("PUT /up HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: 20\r\n\r\n"),
                from: index)
            try readers.join(port, receiveBufferBytes: 4096)
            try readers.send(Self.request(port, "/big"), from: index)
        }
        for round in 0..<20 {
            for index in 0..<count {
                // A head that drips is no better than one that stands still.
                try? heads.send("a", from: index)
                try bodies.send("b", from: index)
            }
            let start = ContinuousClock.now
            #expect(try setup.proxy.exchange("PUT", "/x", body: "abc").body == "3 bytes.")
            #expect(ContinuousClock.now - start < .seconds(5), "round \(round)")
            pause(.milliseconds(100))
        }
        let growth = try setup.proxy.child.memoryKibibytes("VmRSS") - before
        // Of an answer that nobody reads the proxy holds one read.
        #expect(
            Sanitizer.isOn || growth < count * 150 + 8192,
            "\(count) readers take \(growth) KiB")
        for index in 0..<count {
            #expect(try bodies.receive(upTo: "20 bytes.", at: index).hasPrefix("HTTP/1.1 200"))
            // The connection is over; no wait ends with a time-out.
            do {
                let end = try heads.receive(upTo: "no such text", at: index)
                #expect(end.isEmpty || end.hasPrefix("HTTP/1.1 408"))
            } catch Failure.system("recv", ECONNRESET) {}
        }
        print("crowd: \(count) slow readers take \(growth) KiB")
    }

    @Test func `are let in although the shell allows few descriptors`() throws {
        let upstream = try FakeUpstream { _ in .ok("served") }
        let home = try ProxyHome()
        let file = try home.directory.write("token", to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url, credential: ["token: { file: \(YAML.quoted(file)) }"]))
        let child = try ChildProcess(
            ["/bin/sh", "-c", "ulimit -S -n 40; exec \"$0\" \"$@\"", Binary.path]
                + ["serve", "--config", home.configurationFile],
            environment: home.environment, directory: home.directory.path, input: "")
        let proxy = try ProxyProcess(child)
        let crowd = Crowd()
        for index in 0..<100 {
            try crowd.join(proxy.port)
            try crowd.send(Self.request(proxy.port), from: index)
            #expect(try crowd.receive(upTo: "served", at: index).hasPrefix("HTTP/1.1 200"))
        }
    }
}
