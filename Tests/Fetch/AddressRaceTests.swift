// Names of several addresses of which some answer nothing (RFC 8305). Loopback has a whole network of
// addresses; a port whose queue is full is as silent as a dead machine.

import Bytes
import Crypto
import Support
import Testing
import Vocabulary

@testable import Fetch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

private let host = "several.test"

private func dial(
    _ addresses: [String], _ port: UInt16, through proxy: ForwardProxy = .none,
    origin: String = host, timeoutMilliseconds: UInt64 = 20_000
) async -> Result<Int32, DialFailure> {
    let dialler = Dialler(driver: CurlDriver(), proxy: proxy)
    let target = DialTarget(
        Origin(scheme: .https, host: origin, port: port), allowsPrivateAddresses: true)
    return await withCheckedContinuation { continuation in
        dialler.dial(
            target, knownAddresses: [host: addresses], timeoutMilliseconds: timeoutMilliseconds
        ) { continuation.resume(returning: $0) }
    }
}

/// The peer's address as the last of its four numbers.
private func peer(of descriptor: Int32) -> UInt8 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            _ = getpeername(descriptor, $0, &length)
        }
    }
    return UInt8(UInt32(bigEndian: address.sin_addr.s_addr) & 0xFF)
}

@Suite(.serialized) struct `A name of several addresses` {
    @Test(arguments: [1, 2, 4])
    func `is dialled past addresses that answer nothing`(dead: Int) async throws {
        let upstream = try FakeUpstream { _ = try $0.stream.waitForEnd() }
        let numbers = (2..<2 + dead).map { UInt8($0) }
        let silent = try numbers.map { try SilentPort(host: $0, port: upstream.port) }
        let begin = ContinuousClock.now
        let result = await dial(
            numbers.map { "127.0.0.\($0)" } + ["127.0.0.1"], upstream.port,
            timeoutMilliseconds: 60_000)
        // libcurl alone goes on after half of the time, and then after half of the rest.
        #expect(begin.duration(to: .now) < .seconds(20))
        let descriptor = try result.get()
        #expect(peer(of: descriptor) == 1)
        close(descriptor)
        withExtendedLifetime(silent) {}
    }

    @Test func `is dialled past one that refuses and one that answers nothing`() async throws {
        let upstream = try FakeUpstream { _ = try $0.stream.waitForEnd() }
        let silent = try SilentPort(host: 3, port: upstream.port)
        let begin = ContinuousClock.now
        let result = await dial(
            ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.1"], upstream.port,
            timeoutMilliseconds: 60_000)
        close(try result.get())
        #expect(begin.duration(to: .now) < .seconds(20))
        withExtendedLifetime(silent) {}
    }

    @Test func `is not there when no address answers in time`() async throws {
        let first = try SilentPort(host: 2)
        let second = try SilentPort(host: 3, port: first.port)
        let begin = ContinuousClock.now
        let result = await dial(
            ["127.0.0.2", "127.0.0.3"], first.port, timeoutMilliseconds: 1200)
        #expect(result == .failure(.timedOut))
        #expect(begin.duration(to: .now) >= .milliseconds(1200), "each had all of the time")
        withExtendedLifetime((first, second)) {}
    }

    @Test func `refuses only when all do`() async throws {
        let port = try refusingPort()
        #expect(await dial(["127.0.0.2", "127.0.0.3"], port) == .failure(.refused))
    }

    @Test func `a proxy's name likewise, one after the other`() async throws {
        let proxy = try FakeUpstream { connection in
            connection.note(try connection.expectHead())
            try connection.write("HTTP/1.1 200 OK\r\n\r\n")
            _ = try connection.stream.waitForEnd()
        }
        let silent = try SilentPort(host: 2, port: proxy.port)
        let result = await dial(
            ["127.0.0.2", "127.0.0.1"], proxy.port,
            through: try .everything(through: "http://\(host):\(proxy.port)"),
            origin: "api.example.test", timeoutMilliseconds: 4000)
        close(try result.get())
        #expect(
            proxy.requests.map(\.startLine) == ["CONNECT api.example.test:\(proxy.port) HTTP/1.1"])
        withExtendedLifetime(silent) {}
    }

    @Test func `is sent one request, whichever address answers first`() async throws {
        let server = try FakeUpstream(answering: { _ in .ok("here") })
        let silent = try SilentPort(host: 2, port: server.port)
        var request = OutboundRequest(
            .post, "http://\(host):\(server.port)/token", timeoutMilliseconds: 60_000)
        request.body = SecretBytes("grant_type=refresh_token")
        let begin = ContinuousClock.now
        let answer = try await CurlFetcher().fetch(
            request, knownAddresses: [host: ["127.0.0.2", "127.0.0.1"]])
        #expect(answer.body.octets == "here")
        // libcurl alone takes half of the ten seconds that a connection may take.
        #expect(begin.duration(to: .now) < .seconds(4))
        #expect(server.requests.map(\.body) == ["grant_type=refresh_token"])
        withExtendedLifetime(silent) {}
    }

    @Test func `is not asked twice while an answer or a handshake takes its time`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let first = try FakeUpstream { _ in try gate.pass() }
        let second = try FakeUpstream(host: "127.0.0.2", port: first.port) { _ in try gate.pass() }
        for scheme in ["http", "https"] {
            let request = OutboundRequest.get(
                "\(scheme)://\(host):\(first.port)/", timeoutMilliseconds: 1200)
            await #expect(throws: FetchError.timedOut(mayHaveArrived: scheme == "http")) {
                try await CurlFetcher().fetch(
                    request, knownAddresses: [host: ["127.0.0.1", "127.0.0.2"]])
            }
        }
        #expect(first.connectionCount == 2)
        #expect(second.connectionCount == 0)
    }
}
