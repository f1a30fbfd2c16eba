import Crypto
import DataPlane
import Routing
import Support
import Testing

@Suite struct `TLS to an upstream` {
    private let authority = TestAuthority()

    private func upstream(_ identity: TestAuthority.Identity) throws -> FakeUpstream {
        let context = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        return try FakeUpstream(tls: context) { try $0.serve { _ in .ok() } }
    }

    private func answer(_ upstream: FakeUpstream, _ tls: UpstreamTLS) throws -> HTTPMessage {
        try answer(upstream.url, tls)
    }

    private func answer(_ upstream: String, _ tls: UpstreamTLS?) throws -> HTTPMessage {
        let plane = try TestPlane(upstream: upstream, caFile: authority.caFile, tls: tls)
        // A plane ends with its last mention.
        return try withExtendedLifetime(plane) { try plane.client().exchange() }
    }

    /// What `openssl` says of a certificate's key: its SubjectPublicKeyInfo.
    private func keyDigest(_ file: String) throws -> [UInt8] {
        let child = try ChildProcess(
            [
                "/bin/sh", "-c",
                "openssl x509 -in \"$0\" -pubkey -noout | openssl pkey -pubin -outform der "
                    + "| openssl dgst -sha256 -r | cut -c1-64", file,
            ], environment: ["PATH": "/usr/bin:/bin"], directory: "/")
        try child.waitForEnd()
        let digits = Array(child.printed(.output).text.utf8.prefix(64))
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
    }

    @Test func `takes a pinned key of the chain and no other`() throws {
        let identity = authority.loopback()
        let upstream = try upstream(identity)
        let leaf = try keyDigest(identity.certificateFile)
        let root = try keyDigest(authority.caFile)
        let stranger = try keyDigest(TestAuthority().caFile)
        #expect(leaf.count == 32)
        for (pins, status) in [
            ([leaf], 200), ([root], 200), ([stranger, leaf], 200), ([stranger], 502),
        ] {
            var tls = UpstreamTLS()
            tls.pins = pins
            let answer = try answer(upstream, tls)
            #expect(answer.status == status)
            if status == 502 { #expect(answer.body.text.contains("none of the pinned ones")) }
        }
        #expect(upstream.requests.count == 3)
    }

    @Test func `speaks no older version than is asked for`() throws {
        let upstream = try upstream(authority.loopback())
        var tls = UpstreamTLS()
        tls.requiresTLS13 = true
        #expect(try answer(upstream, tls).status == 200)
    }

    /// In TLS 1.3 the server says so when the handshake is over on this side.
    @Test(arguments: [["-tls1_2"], ["-tls1_3"], ["-tls1_3", "-alpn", "h2"]])
    func `shows a certificate of ours where it has one`(_ flags: [String]) throws {
        let identity = authority.loopback()
        let own = authority.identity(for: ["client.test"])
        // OpenSSL's own server asks for a certificate that the authority has signed.
        let port = try freePort()
        let server = try ChildProcess(
            [
                "/usr/bin/openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-www", "-Verify",
                "2", "-verify_return_error", "-CAfile", authority.caFile, "-cert",
                identity.certificateFile, "-key", identity.keyFile, "-purpose", "any",
            ] + flags, environment: ["PATH": "/usr/bin:/bin"], directory: "/")
        try waited(for: "the server") {
            (try? SocketStream.connect(to: port)) == nil ? nil : ()
        }
        let refused = try answer("https://127.0.0.1:\(port)", nil)
        #expect(refused.status == 502)
        #expect(refused.body.text.contains("upstream_tls_failed"))
        #expect(refused.body.text.contains("tls: { certificate, key }"))
        // It speaks no HTTP/2 behind the handshake.
        if flags.contains("h2") { return }
        var tls = UpstreamTLS()
        tls.certificateFile = own.certificateFile
        tls.keyFile = own.keyFile
        #expect(try answer("https://127.0.0.1:\(port)", tls).status == 200)
        #expect(server.isRunning, "it ends with its owner")
    }

    private func freePort() throws -> UInt16 {
        let upstream = try FakeUpstream { _ in }
        defer { upstream.stop() }
        return upstream.port
    }
}
