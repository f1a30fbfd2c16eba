// Floods of HTTP/2 against the real binary (expectation 28 of peers.md; CVE-2019-9511 to 9518, CVE-2023-44487,
// CVE-2024-24549, CVE-2025-8671): memory stays bounded, others are served meanwhile, nothing is left afterwards.

import Glibc
import Support
import Testing

@Suite(.ownThread, .serialized) struct `Floods of HTTP 2` {
    private static let target = [
        (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "127.0.0.1"),
    ]

    struct Flood: Sendable, CustomStringConvertible {
        let description: String
        var opening = HTTP2Frame.preface + HTTP2Frame.settings()
        var perSecond = 10_000
        let round: @Sendable (UInt32) -> Octets
    }

    /// A field of 4,000 bytes in the table that a thousand bytes name as often.
    private static let bomb: Octets = {
        let entry = [0x40, 1, 0x61, 127] + [UInt8(0x80 | (3873 % 128)), UInt8(3873 / 128)]
        return HTTP2Frame.block(target)
            + Octets(
                entry + Array(repeating: 0x62, count: 4000) + Array(repeating: 0xBE, count: 1000))
    }()
    private static let floods = [
        Flood(description: "rapid reset") {
            HTTP2Frame.headers($0 * 2 + 1, target) + HTTP2Frame.reset($0 * 2 + 1)
        },
        Flood(description: "resets that it makes us send") {
            HTTP2Frame.headers($0 * 2 + 1, target)
                + HTTP2Frame.windowUpdate($0 * 2 + 1, 0x7FFF_FFFF)
        },
        Flood(
            description: "one head without an end",
            opening: HTTP2Frame.preface + HTTP2Frame.settings()
                + HTTP2Frame.frame(.headers, stream: 1, HTTP2Frame.block(target))
        ) { _ in
            HTTP2Frame.frame(
                .continuation, stream: 1,
                HTTP2Frame.block([("x", String(repeating: "y", count: 99))]))
        },
        Flood(
            description: "empty continuations",
            opening: HTTP2Frame.preface + HTTP2Frame.settings()
                + HTTP2Frame.frame(.headers, stream: 1, HTTP2Frame.block(target))
        ) { _ in
            HTTP2Frame.frame(.continuation, stream: 1)
        },
        Flood(description: "settings") { _ in HTTP2Frame.settings([(4, 65_535)]) },
        Flood(description: "pings") { _ in HTTP2Frame.ping() },
        Flood(description: "priorities") {
            HTTP2Frame.frame(.priority, stream: $0 * 2 + 1, "\0\0\0\0\u{10}")
        },
        Flood(description: "window updates") { _ in HTTP2Frame.windowUpdate(0, 1) },
        Flood(
            description: "windows that open by one byte",
            opening: HTTP2Frame.preface + HTTP2Frame.settings([(4, 0)])
        ) {
            $0 < 100
                ? HTTP2Frame.get($0 * 2 + 1, "/big") : HTTP2Frame.windowUpdate($0 % 100 * 2 + 1, 1)
        },
        Flood(description: "heads that grow when they are read", perSecond: 1000) {
            HTTP2Frame.frame(
                .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream, stream: $0 * 2 + 1,
                bomb)
        },
        Flood(description: "uploads that never end", perSecond: 1000) {
            HTTP2Frame.headers(
                $0 * 2 + 1, [(":method", "POST")] + target.dropFirst(), endsStream: false)
        },
        Flood(
            description: "empty data",
            opening: HTTP2Frame.preface + HTTP2Frame.settings()
                + HTTP2Frame.headers(
                    1, [(":method", "POST")] + target.dropFirst(), endsStream: false)
        ) { _ in HTTP2Frame.data(1, "") },
        Flood(description: "connections", perSecond: 2000) {
            $0 == 0 ? HTTP2Frame.headers(1, target) : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        },
    ]

    private static let seconds = Soak.times(1, soaking: 5)
    /// What a flood may add, in KiB: a hundred streams that wait with one window and one read each, and
    /// room for the allocator.
    private static let growthMax = 48 << 10

    @Test(arguments: floods)
    func `cost bounded memory and delay nobody else`(_ flood: Flood) throws {
        let big = Octets.pattern(count: 1 << 20)
        let upstream = try FakeUpstream { $0.target == "/big" ? .ok(big) : .ok("served") }
        // Pooled connections, which a flood may have had made, go soon.
        let setup = try DirectSetup(
            to: upstream,
            settings: [
                "timeouts: { upstream_idle: 1s }",
                "allowed_hosts: [\"localhost:80\", \"127.0.0.1:80\"]",
            ])
        let process = setup.proxy.child
        // What there is once and for all: pools, tables, pages of code.
        for _ in 0..<50 { _ = try setup.proxy.exchange("GET", "/big") }
        let before = try process.memoryKibibytes("VmRSS")
        let descriptors = try openDescriptors(of: process)

        let attack = Attack(
            on: setup.proxy.port, opening: flood.opening, perSecond: flood.perSecond,
            round: flood.round)
        var slowest = Duration.zero
        var served = 0
        let end = ContinuousClock.now + .seconds(Self.seconds)
        let multiplexed = try HTTP2Peer.client(to: setup.proxy.port)
        let authority = "127.0.0.1:\(setup.proxy.port)"
        while ContinuousClock.now < end {
            let start = ContinuousClock.now
            #expect(try setup.proxy.exchange("GET", "/").body == "served")
            #expect(try multiplexed.exchange("GET", "/", authority: authority).body == "served")
            slowest = max(slowest, ContinuousClock.now - start)
            served += 2
        }
        let growth = try process.memoryKibibytes("VmHWM") - before
        try attack.stop()
        #expect(Sanitizer.isOn || growth < Self.growthMax, "\(flood) took \(growth) KiB")
        #expect(slowest < .seconds(5), "\(flood) delayed others by \(slowest)")
        #expect(served > 2)
        #expect(attack.tally.rounds > 100, "\(flood) sent \(attack.tally)")
        print(
            "flood: \(flood): \(attack.tally), \(served) served, slowest \(slowest), \(growth) KiB")
        // Nothing of it is kept.
        try waited(for: "the flood's connections to be gone") {
            try openDescriptors(of: process) <= descriptors + 8 ? () : nil
        }
        #expect(try setup.proxy.exchange("GET", "/").body == "served")
        #expect(process.isRunning)
    }

    private func openDescriptors(of process: ChildProcess) throws -> Int {
        guard let folder = opendir("/proc/\(process.identifier)/fd") else {
            throw Failure.malformed("no such process")
        }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }
}
