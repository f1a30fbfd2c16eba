// A certificate of the client's in the TLS handshake (RFC 8705), against OpenSSL's own server.

import Bytes
import Fetch
import Support
import Testing
import Vocabulary

@Suite(.serialized) struct `Client certificate` {
    /// A server that wants a certificate of one authority's and shows it in its answer.
    private struct Server {
        let process: ChildProcess
        let url: String

        init(_ authority: TestAuthority) throws {
            let identity = authority.loopback()
            // A port that the kernel has just given away and taken back.
            let place = try FakeUpstream { _ in }
            let port = place.port
            place.stop()
            url = "https://127.0.0.1:\(port)/"
            process = try ChildProcess(
                [
                    "/usr/bin/openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-www",
                    "-Verify", "1", "-verify_return_error", "-CAfile", authority.caFile, "-cert",
                    identity.certificateFile, "-key", identity.keyFile,
                ], environment: ["PATH": "/usr/bin:/bin"], directory: authority.directory)
            let process = process
            try waited(for: "the server to listen", within: .seconds(20)) {
                process.printed(.output).contains("ACCEPT") ? () : nil
            }
        }
    }

    @Test func `is shown where the request has one, and only there`() async throws {
        let authority = TestAuthority()
        let server = try Server(authority)
        defer { withExtendedLifetime(server) {} }
        let client = authority.identity(for: ["client.test"], purpose: "clientAuth")
        let fetcher = CurlFetcher(caFile: authority.caFile)
        var request = OutboundRequest.get(server.url)
        #expect(await fetcher.failure(of: request) != nil)
        request.clientCertificate = ClientCertificate(
            certificatePath: client.certificateFile, keyPath: client.keyFile)
        let answer = try await fetcher.fetch(request)
        #expect(answer.status == 200)
        #expect(answer.body.octets.contains("DNS:client.test"))
    }

    @Test func `that cannot be read fails the request before it is sent`() async throws {
        let authority = TestAuthority()
        let server = try Server(authority)
        defer { withExtendedLifetime(server) {} }
        var request = OutboundRequest.get(server.url)
        request.clientCertificate = ClientCertificate(
            certificatePath: "/nowhere/c.pem", keyPath: "/nowhere/k.pem")
        let failure = try #require(
            await CurlFetcher(caFile: authority.caFile).failure(of: request))
        #expect(!failure.mayHaveArrived)
    }
}
