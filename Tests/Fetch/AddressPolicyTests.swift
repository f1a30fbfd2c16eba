// Where a name may lead (peers.md expectation 33).

import Support
import Testing
import Vocabulary

@testable import Fetch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

private func withAddress<Result>(
    _ text: String, _ body: (UnsafePointer<sockaddr>) throws -> Result
) throws -> Result {
    var storage = sockaddr_storage()
    try withUnsafeMutablePointer(to: &storage) { storage in
        let raw = UnsafeMutableRawPointer(storage)
        let isV6 = text.contains(":")
        storage.pointee.ss_family = sa_family_t(isV6 ? AF_INET6 : AF_INET)
        try #require(inet_pton(isV6 ? AF_INET6 : AF_INET, text, raw + (isV6 ? 8 : 4)) == 1)
    }
    return try withUnsafePointer(to: &storage) {
        try body(UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self))
    }
}

@Suite struct `Addresses that a name leads to` {
    @Test(arguments: [
        ("93.184.216.34", AddressPolicy.Kind.open), ("2606:2800:220:1::1", .open),
        ("172.15.255.255", .open), ("172.32.0.1", .open), ("100.128.0.1", .open),
        ("192.169.0.1", .open), ("::ffff:93.184.216.34", .open), ("2002:5db8:d822::1", .open),
        ("64:ff9b::5db8:d822", .open),
        ("127.0.0.1", .local), ("10.1.2.3", .local), ("172.16.0.1", .local),
        ("172.31.255.255", .local), ("192.168.1.1", .local), ("100.64.0.1", .local),
        ("0.0.0.0", .local), ("198.18.0.1", .local), ("::1", .local), ("::", .local),
        ("fc00::1", .local), ("fdff::1", .local), ("::ffff:127.0.0.1", .local),
        ("::ffff:10.0.0.1", .local), ("::127.0.0.1", .local), ("64:ff9b::a00:1", .local),
        ("2002:7f00:1::1", .local), ("fec0::1", .local), ("feff::1", .local),
        ("64:ff9b:1::a9fe:a9fe", .local), ("64:ff9b:1:ffff::1", .local),
        ("64:ff9b:2::1", .open), ("168.63.129.15", .open), ("168.63.129.16", .special),
        ("169.254.169.254", .special), ("169.254.0.1", .special), ("100.100.100.200", .special),
        ("224.0.0.1", .special), ("255.255.255.255", .special), ("fe80::1", .special),
        ("febf::1", .special), ("ff02::1", .special), ("fd00:ec2::254", .special),
        ("::ffff:169.254.169.254", .special), ("64:ff9b::a9fe:a9fe", .special),
    ])
    func `are of three kinds`(address: String, kind: AddressPolicy.Kind) throws {
        let found = try withAddress(address) { AddressPolicy.kind(of: $0) }
        #expect(found == kind, "\(address)")
    }

    @Test(arguments: [
        ("api.example.com", "10.0.0.1", false), ("api.example.com", "127.0.0.1", false),
        ("api.example.com", "169.254.169.254", false), ("api.example.com", "93.184.216.34", true),
        ("api.internal", "10.0.0.1", true), ("api.internal", "169.254.169.254", false),
        ("printer", "192.168.0.9", true), ("printer", "fd00:ec2::254", false),
        ("files.localhost", "127.0.0.1", true), ("nas.home.arpa", "192.168.0.9", true),
        ("x.arpa", "192.168.0.9", false), ("notlocalhost.com", "127.0.0.1", false),
        ("10.0.0.1", "10.0.0.1", true), ("169.254.169.254", "169.254.169.254", true),
        ("fe80::1", "fe80::1", true),
    ])
    func `are admitted by what the name is (expectation 33)`(
        host: String, address: String, isAdmitted: Bool
    ) throws {
        let policy = AddressPolicy(AddressPolicy.reach(of: host, allowsPrivate: false))
        #expect(try withAddress(address) { policy.admits($0) } == isAdmitted)
        #expect(policy.hasRefused != isAdmitted)
        let open = AddressPolicy(AddressPolicy.reach(of: host, allowsPrivate: true))
        #expect(try withAddress(address) { open.admits($0) })
    }
}

@Suite(.serialized) struct `A dial to a name` {
    private func dial(
        _ host: String, _ addresses: [String], port: UInt16, allowsPrivate: Bool = false,
        address: String? = nil
    ) async -> Result<Int32, DialFailure> {
        let dialler = Dialler(driver: CurlDriver(), proxy: .none)
        let target = DialTarget(
            Origin(scheme: .https, host: host, port: port), address: address,
            allowsPrivateAddresses: allowsPrivate)
        return await withCheckedContinuation { continuation in
            dialler.dial(
                target, knownAddresses: addresses.isEmpty ? [:] : [host: addresses],
                timeoutMilliseconds: 20_000
            ) { continuation.resume(returning: $0) }
        }
    }

    @Test func `that leads to this machine is refused unless it is allowed`() async throws {
        let upstream = try FakeUpstream { _ = try $0.stream.waitForEnd() }
        let refused = await dial("api.example.com", ["127.0.0.1"], port: upstream.port)
        #expect(refused == .failure(.addressNotAllowed))
        #expect(upstream.connectionCount == 0)
        let allowed = await dial(
            "api.example.com", ["127.0.0.1"], port: upstream.port, allowsPrivate: true)
        close(try allowed.get())
        let named = await dial(
            "api.example.com", [], port: upstream.port, address: "127.0.0.1")
        close(try named.get())
    }
}
