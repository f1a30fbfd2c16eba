// Hosts with the names that real providers have, on this machine: a forward proxy that leads every
// CONNECT to one TLS server, which answers in the name that was asked for. Whoever goes through the
// proxy and trusts its authority finds `https://github.com` here and nothing of the real one.

import Crypto

/// A few hosts behind a forward proxy.
package final class FakeInternet: Sendable {
    package typealias Responder = @Sendable (HTTPMessage) throws -> FakeResponse

    private let authority: TestAuthority
    private let servers: FakeUpstream
    private let forward: FakeUpstream

    /// - Parameter hosts: who answers for each host name; other names cannot be connected to.
    package init(_ hosts: [String: Responder]) throws {
        let authority = TestAuthority()
        self.authority = authority
        let identity = authority.identity(for: Array(hosts.keys))
        let servers = try FakeUpstream(
            tls: .server(
                certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        ) { request in
            guard let responder = hosts[request.value("Host") ?? ""] else {
                return FakeResponse(421, body: "no such host")
            }
            return try responder(request)
        }
        self.servers = servers
        let port = servers.port
        forward = try FakeUpstream { connection in
            let head = try connection.expectHead()
            let name = head.target.components(separatedBy: ":")
            guard head.method == "CONNECT", hosts[name[0]] != nil, name.last == "443" else {
                return try connection.write("HTTP/1.1 502 No such host\r\n\r\n")
            }
            let onward = try SocketStream.connect(to: port)
            try connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
            // SAFETY: each stream is read by one thread and written to by the other, and the two ways
            // share no state.
            nonisolated(unsafe) let (near, far) = (connection.stream, onward)
            let hasEnded = Gate()
            OwnThread.start {
                Self.pass(from: far, to: near)
                hasEnded.open()
            }
            Self.pass(from: near, to: far)
            // Neither is closed under the other thread, whose reads would be a stranger's then.
            try hasEnded.pass()
        }
    }

    private static func pass(from source: SocketStream, to target: SocketStream) {
        while let octets = try? source.readSome(within: .seconds(300)) {
            guard (try? target.write(octets)) != nil else { break }
        }
        try? target.halfClose()
    }

    /// `forward_proxy` and `ca_file` of a configuration.
    package var settings: [String] {
        ["forward_proxy: { url: \"\(forward.url)\" }", "ca_file: \(jsonText(authority.caFile))"]
    }

    /// The same for a process that is configured by its environment, as curl(1) and OpenSSL are.
    package var environment: [String: String] {
        ["https_proxy": forward.url, "SSL_CERT_FILE": authority.caFile]
    }

    /// What makes curl find the hosts, and this machine without them.
    package var curlArguments: String {
        "--proxy \(forward.url) --noproxy localhost,127.0.0.1 --cacert \(authority.caFile)"
    }

    /// Requests to any of the hosts, in the order in which they were read.
    package var requests: [HTTPMessage] { servers.requests }
}
