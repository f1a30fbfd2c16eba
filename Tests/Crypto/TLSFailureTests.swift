// Every way in which a handshake must fail, and what it says of itself.

import Crypto
import Support
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct `TLS failure` {
    let authority = TestAuthority()

    private func failure(
        of identity: TestAuthority.Identity, host: String = "localhost"
    ) throws -> (client: TLSConnection.Progress, server: TLSConnection.Progress) {
        var pair = try TLSPair(authority: authority, identity: identity, host: host)
        pair.exchange()
        return (pair.clientProgress, pair.serverProgress)
    }

    @Test func `an expired certificate`() throws {
        let (client, server) = try failure(of: authority.expired())
        #expect(client == .failed(.certificateExpired))
        #expect(server == .failed(.refusedByPeer(alert: 45)), "the alert was sent")
    }

    @Test func `a certificate that is not valid yet`() throws {
        #expect(try failure(of: authority.notYetValid()).client == .failed(.certificateNotYetValid))
    }

    @Test(arguments: ["localhost", "127.0.0.1", "::1"])
    func `a certificate for another host`(host: String) throws {
        let (client, _) = try failure(of: authority.wrongHost(), host: host)
        #expect(client == .failed(.hostnameMismatch))
    }

    @Test func `a certificate of an unknown authority`() throws {
        let stranger = TestAuthority(name: "Stranger")
        let (client, _) = try failure(of: stranger.loopback())
        #expect(client == .failed(.unknownAuthority))
        // The same name with another key is a stranger too.
        let double = TestAuthority()
        let (again, _) = try failure(of: double.loopback())
        guard case .failed = again else {
            Issue.record("\(again)")
            return
        }
    }

    @Test func `the system's authorities do not know ours`() throws {
        let identity = authority.loopback()
        var pair = TLSPair(
            client: try TLSConnection(client: .client(trust: .system), host: "localhost"),
            server: TLSConnection(
                server: try .server(
                    certificateFile: identity.certificateFile, keyFile: identity.keyFile)))
        pair.exchange()
        let progress = pair.clientProgress
        #expect(progress == .failed(.unknownAuthority))
    }

    @Test func `a partial wildcard does not match`() throws {
        let (client, _) = try failure(
            of: authority.identity(for: ["l*.example.test"]), host: "login.example.test")
        #expect(client == .failed(.hostnameMismatch))
        let (whole, _) = try failure(
            of: authority.identity(for: ["*.example.test"]), host: "login.example.test")
        #expect(whole == .ready(0))
        let (deeper, _) = try failure(
            of: authority.identity(for: ["*.example.test"]), host: "a.login.example.test")
        #expect(deeper == .failed(.hostnameMismatch))
    }

    @Test(arguments: ["", ".", ".example.com", "a b", "a\0b", "ü.example", "\n"])
    func `a host that OpenSSL would misread`(host: String) throws {
        let context = try TLSContext.client(trust: .file(path: authority.caFile))
        #expect(throws: TLSError.invalidHost) {
            _ = try TLSConnection(client: context, host: host)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9\r\n", "220 smtp ready\r\n",
    ])
    func `a server that speaks no TLS`(greeting: String) throws {
        var client = try TLSConnection(
            client: .client(trust: .file(path: authority.caFile)), host: "localhost")
        _ = client.handshake()
        Array(greeting.utf8).withUnsafeBytes { client.feed($0) }
        let progress = client.handshake()
        #expect(progress == .failed(.notTLS))
    }

    @Test(arguments: [UInt8(0x00), 0x01, 0x02])
    func `a server that settles for less than TLS 1.2`(minorVersion: UInt8) throws {
        var client = try TLSConnection(
            client: .client(trust: .file(path: authority.caFile)), host: "localhost")
        _ = client.handshake()
        // A ServerHello (RFC 5246 section 7.4.1.3) with TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA.
        let body: [UInt8] =
            [3, minorVersion] + [UInt8](repeating: 7, count: 32) + [0, 0xC0, 0x13, 0]
        let hello: [UInt8] = [2, 0, 0, UInt8(body.count)] + body
        let record: [UInt8] = [22, 3, minorVersion, 0, UInt8(hello.count)] + hello
        record.withUnsafeBytes { client.feed($0) }
        let progress = client.handshake()
        #expect(progress == .failed(.nothingInCommon))
    }

    @Test func `an end at any byte of the handshake`() throws {
        let identity = authority.loopback()
        let client = try TLSContext.client(trust: .file(path: authority.caFile))
        let server = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        var position = 0
        while true {
            var pair = TLSPair(
                client: try TLSConnection(client: client, host: "localhost"),
                server: TLSConnection(server: server))
            _ = pair.client.handshake()
            pair.moveToServer()
            _ = pair.server.handshake()
            if position >= pair.server.pendingCiphertext.count { break }
            pair.moveToClient(position)
            pair.client.feedEnd()
            let progress = pair.client.handshake()
            if case .ready = progress { break }
            #expect(progress == .failed(.truncated), "cut at \(position)")
            position += 13
        }
        #expect(position > 500)
    }

    @Test func `a changed byte of ciphertext`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        _ = pair.client.readAll()
        _ = pair.server.write([1, 2, 3])
        var bytes = Array(pair.server.pendingCiphertext)
        bytes[bytes.count - 1] ^= 1
        bytes.withUnsafeBytes { pair.client.feed($0) }
        let progress = pair.client.readAll()
        guard case ([], .failed(.protocolViolation)) = progress else {
            Issue.record("\(progress)")
            return
        }
        let alert = pair.client.pendingCiphertext.count
        #expect(alert > 0, "the other side is told")
    }

    @Test func `files that are no certificates`() throws {
        #expect(throws: TLSError.fileUnreadable(path: "/nowhere/ca.pem")) {
            _ = try TLSContext.client(trust: .file(path: "/nowhere/ca.pem"))
        }
        let identity = authority.loopback()
        #expect(throws: TLSError.noCertificate(path: identity.keyFile)) {
            _ = try TLSContext.client(trust: .file(path: identity.keyFile))
        }
        let other = authority.loopback()
        #expect(throws: TLSError.keyMismatch(path: other.keyFile)) {
            _ = try TLSContext.server(
                certificateFile: identity.certificateFile, keyFile: other.keyFile)
        }
        #expect(throws: TLSError.noCertificate(path: "/nowhere")) {
            _ = try TLSContext.server(certificateFile: "/nowhere", keyFile: "/nowhere")
        }
    }

    @Test func `a trust file that was replaced counts for the next context`() throws {
        let stranger = TestAuthority(name: "Stranger")
        let path = authority.directory + "/moving.pem"
        try #require(link(authority.caFile, path) == 0)
        let before = try TLSContext.client(trust: .file(path: path))
        try #require(unlink(path) == 0)
        try #require(link(stranger.caFile, path) == 0)
        let after = try TLSContext.client(trust: .file(path: path))

        let identity = stranger.loopback()
        let server = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        for (context, expected) in [
            (before, TLSConnection.Progress.failed(.unknownAuthority)), (after, .ready(0)),
        ] {
            var pair = TLSPair(
                client: try TLSConnection(client: context, host: "localhost"),
                server: TLSConnection(server: server))
            pair.exchange()
            let progress = pair.clientProgress
            #expect(progress == expected)
        }
    }

    @Test func `every failure has a line for a person`() {
        let failures: [TLSError] = [
            .invalidHost, .fileUnreadable(path: "x"), .noCertificate(path: "x"),
            .keyMismatch(path: "x"), .certificateExpired, .certificateNotYetValid,
            .certificateRevoked, .hostnameMismatch, .unknownAuthority,
            .certificateInvalid(code: 26), .refusedByPeer(alert: 40), .notTLS, .nothingInCommon,
            .protocolViolation(code: 0), .truncated,
        ]
        #expect(Set(failures.map(\.reason)).count == failures.count)
        #expect(failures.allSatisfy { !$0.reason.isEmpty && !$0.reason.hasSuffix(".") })
        #expect(TLSError.refusedByPeer(alert: 40).reason.contains("handshake failure"))
        #expect(TLSError.certificateInvalid(code: 26).reason.contains("purpose"))
    }
}
