// Connections for workers: whose socket it is, which way it takes, and why there is none.

import Fetch
import Support
import Testing
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Dialler {
    /// A dial as a task's own.
    fileprivate func dial(
        _ host: String, _ port: UInt16, _ scheme: Origin.Scheme = .http,
        timeoutMilliseconds: UInt64 = 20_000
    ) async -> Result<Int32, DialFailure> {
        await withCheckedContinuation { continuation in
            dial(
                DialTarget(Origin(scheme: scheme, host: host, port: port)),
                timeoutMilliseconds: timeoutMilliseconds
            ) { continuation.resume(returning: $0) }
        }
    }

    fileprivate convenience init(proxy: ForwardProxy = .none) {
        self.init(driver: CurlDriver(), proxy: proxy)
    }
}

/// Sends back what comes, until the client ends.
private let echo: FakeUpstream.Script = { connection in
    while let octets = try connection.stream.readSome(within: .seconds(120)) {
        try connection.write(octets)
    }
}

/// Sends bytes over a dialled socket, reads them back, closes it and waits for the other side to
/// notice: nobody else holds it open.
private func exchange(over descriptor: Int32) async throws {
    try await elsewhere {
        let stream = SocketStream(adopting: descriptor)
        try stream.write("hello")
        #expect(try stream.read(5) == "hello")
        try stream.halfClose()
        #expect(try stream.waitForEnd() == .closed)
    }
}

@Suite(.serialized) struct `A dial` {
    @Test(arguments: ["127.0.0.1", "localhost"], [Origin.Scheme.http, .https])
    func `hands over a plain socket that is ready for a worker`(
        host: String, scheme: Origin.Scheme
    ) async throws {
        let upstream = try FakeUpstream(echo)
        let descriptor = try await Dialler().dial(host, upstream.port, scheme).get()
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        var isUndelayed: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isUndelayed, &length)
        #expect(isUndelayed != 0)
        try await exchange(over: descriptor)
        // Another test's client may come to a port that was its server's a moment ago.
        #expect(upstream.received.contains("hello"), "not a byte of our own went before")
    }

    @Test func `a socket outlives its driver`() async throws {
        let upstream = try FakeUpstream(echo)
        let driver = CurlDriver()
        let dialler = Dialler(driver: driver, proxy: .none)
        let first = try await dialler.dial("127.0.0.1", upstream.port).get()
        let second = try await dialler.dial("127.0.0.1", upstream.port).get()
        driver.stop()
        guard case .failure(.other) = await dialler.dial("127.0.0.1", upstream.port) else {
            Issue.record("it still dials")
            return
        }
        try await exchange(over: first)
        try await exchange(over: second)
        #expect(upstream.connectionCount == 2)
    }

    @Test func `nobody else keeps a socket open`() async throws {
        let ended = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.stream.waitForEnd()
            ended.open()
        }
        let driver = CurlDriver()
        let dialler = Dialler(driver: driver, proxy: .none)
        let descriptor = try await dialler.dial("127.0.0.1", upstream.port).get()
        close(descriptor)
        try await elsewhere { try ended.pass() }
        driver.stop()
        #expect(upstream.connectionCount == 1)
    }

    @Test func `an address that refuses is passed over for the next`() async throws {
        // localhost is ::1 and 127.0.0.1 for libcurl.
        let four = try FakeUpstream(host: "127.0.0.1", echo)
        let dialler = Dialler()
        try await exchange(over: dialler.dial("localhost", four.port).get())
        #expect(four.connectionCount == 1)
        if let six = try? FakeUpstream(host: "::1", echo) {
            try await exchange(over: dialler.dial("localhost", six.port).get())
            try await exchange(over: dialler.dial("::1", six.port).get())
            #expect(six.connectionCount == 2)
        }
    }

    @Test func `a hundred at once`() async throws {
        let upstream = try FakeUpstream(echo)
        let dialler = Dialler()
        let descriptors = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<100 {
                group.addTask { try await dialler.dial("127.0.0.1", upstream.port).get() }
            }
            return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
        }
        #expect(descriptors.count == 100)
        for descriptor in descriptors.prefix(3) { try await exchange(over: descriptor) }
        for descriptor in descriptors.dropFirst(3) { close(descriptor) }
        #expect(upstream.connectionCount == 100)
    }

    @Test func `nobody listens`() async throws {
        let result = await Dialler().dial("127.0.0.1", try refusingPort())
        #expect(result == .failure(.refused))
    }

    @Test(arguments: [
        String(repeating: "a", count: 64) + ".test", "", "a b", "host/path", "user@host", "a\nb",
        "host#x", "host?x", "%61", "[::1]", ":",
    ])
    func `no such name`(host: String) async {
        #expect(await Dialler().dial(host, 80) == .failure(.nameNotResolved))
    }

    @Test func `no connection in time`() async throws {
        let silent = try SilentPort()
        let result = await Dialler().dial("127.0.0.1", silent.port, timeoutMilliseconds: 200)
        #expect(result == .failure(.timedOut))
        withExtendedLifetime(silent) {}
    }

    @Test func `a slow dial holds nobody up`() async throws {
        let silent = try SilentPort()
        let upstream = try FakeUpstream(echo)
        let dialler = Dialler()
        async let slow = dialler.dial("127.0.0.1", silent.port, timeoutMilliseconds: 3000)
        try await exchange(over: dialler.dial("127.0.0.1", upstream.port).get())
        #expect(await slow == .failure(.timedOut))
        #expect(upstream.connectionCount == 1)
        withExtendedLifetime(silent) {}
    }

    @Test func `stopping ends a dial`() async throws {
        let silent = try SilentPort()
        let driver = CurlDriver()
        let dialler = Dialler(driver: driver, proxy: .none)
        let port = silent.port
        let dial = Task { await dialler.dial("127.0.0.1", port) }
        driver.stop()
        #expect(await dial.value == .failure(.other("shutting down")))
        withExtendedLifetime(silent) {}
    }
}
