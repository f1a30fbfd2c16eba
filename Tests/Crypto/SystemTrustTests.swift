// The authorities of the machine, with a machine of our own: the variables that name them are set in
// child processes only.

import Crypto
import Support
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How a handshake with a server of this authority ends under the trust of the machine.
private func outcome(
    _ authority: TestAuthority, under context: TLSContext? = nil
) throws -> TLSConnection.Progress {
    let identity = authority.loopback()
    var pair = TLSPair(
        client: try TLSConnection(
            client: try context ?? .client(trust: .system), host: "localhost"),
        server: TLSConnection(
            server: try .server(
                certificateFile: identity.certificateFile, keyFile: identity.keyFile)))
    pair.exchange()
    return pair.clientProgress
}

@Suite struct `The machine's authorities` {
    @Test func `are found in the directory, without a bundle`() async {
        await #expect(processExitsWith: .success) {
            let authority = TestAuthority()
            authority.addHashedName()
            setenv("SSL_CERT_DIR", authority.directory, 1)
            setenv("SSL_CERT_FILE", "/nowhere", 1)
            guard try outcome(authority) == .ready(0),
                try outcome(TestAuthority(name: "Stranger")) == .failed(.unknownAuthority)
            else { exit(1) }
        }
    }

    @Test func `are found in the bundle when the directory has none`() async {
        await #expect(processExitsWith: .success) {
            let authority = TestAuthority()
            setenv("SSL_CERT_DIR", "/nowhere", 1)
            setenv("SSL_CERT_FILE", authority.caFile, 1)
            let context = try TLSContext.client(trust: .system)
            // The first miss reads the bundle, later ones must do without reading it again.
            guard
                try outcome(TestAuthority(name: "Stranger"), under: context)
                    == .failed(.unknownAuthority),
                try outcome(authority, under: context) == .ready(0),
                try outcome(authority, under: context) == .ready(0),
                unlink(authority.caFile) == 0,
                try outcome(authority, under: context) == .ready(0)
            else { exit(1) }
        }
    }

    @Test func `may be none at all`() async {
        await #expect(processExitsWith: .success) {
            setenv("SSL_CERT_DIR", "/nowhere", 1)
            setenv("SSL_CERT_FILE", "/nowhere", 1)
            guard try outcome(TestAuthority()) == .failed(.unknownAuthority) else { exit(1) }
        }
    }

    @Test func `are looked up by several threads at once`() async {
        await #expect(processExitsWith: .success) {
            let authority = TestAuthority()
            setenv("SSL_CERT_DIR", "/nowhere", 1)
            setenv("SSL_CERT_FILE", authority.caFile, 1)
            let context = try TLSContext.client(trust: .system)
            let isGood = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<16 {
                    group.addTask { (try? outcome(authority, under: context)) == .ready(0) }
                }
                return await group.allSatisfy { $0 }
            }
            if !isGood { exit(1) }
        }
    }
}
