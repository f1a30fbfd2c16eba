// A client and a server that talk through memory, for tests to watch and to disturb.

import Bytes
import Crypto
import Support

struct TLSPair: ~Copyable {
    var client: TLSConnection
    var server: TLSConnection
    var clientProgress = TLSConnection.Progress.wantRead
    var serverProgress = TLSConnection.Progress.wantRead

    init(
        authority: TestAuthority, identity: TestAuthority.Identity, host: String = "localhost",
        session: TLSSession? = nil
    ) throws {
        self.init(
            client: try TLSConnection(
                client: .client(trust: .file(path: authority.caFile)), host: host, session: session),
            server: TLSConnection(
                server: try .server(
                    certificateFile: identity.certificateFile, keyFile: identity.keyFile)))
    }

    init(client: consuming TLSConnection, server: consuming TLSConnection) {
        self.client = client
        self.server = server
    }

    /// Hands over ciphertext one way, at most `step` bytes.
    @discardableResult
    mutating func moveToServer(_ step: Int = .max) -> Int {
        move(from: &client, to: &server, step)
    }

    @discardableResult
    mutating func moveToClient(_ step: Int = .max) -> Int {
        move(from: &server, to: &client, step)
    }

    /// Hands over ciphertext, `step` bytes at a time, until neither side has any.
    mutating func exchange(step: Int = .max) {
        for _ in 0..<100_000 {
            clientProgress = client.handshake()
            serverProgress = server.handshake()
            let moved =
                move(from: &client, to: &server, step) + move(from: &server, to: &client, step)
            if moved == 0 { return }
        }
        fatalError("the handshake never comes to rest")
    }
}

/// Feeds `to` with at most `step` bytes of what `from` has to send.
@discardableResult
func move(from: inout TLSConnection, to: inout TLSConnection, _ step: Int = .max) -> Int {
    let count = min(step, from.pendingCiphertext.count)
    to.feed(UnsafeRawBufferPointer(rebasing: from.pendingCiphertext[..<count]))
    from.consumeCiphertext(count)
    return count
}

extension TLSConnection {
    mutating func write(_ bytes: [UInt8]) -> Progress {
        bytes.withUnsafeBytes { write($0) }
    }

    /// Everything that can be read now, and why no more.
    mutating func readAll(step: Int = 16_384) -> (bytes: [UInt8], end: Progress) {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: step)
        while true {
            let progress = block.withUnsafeMutableBytes { read(into: $0) }
            guard case .ready(let count) = progress else { return (bytes, progress) }
            bytes += block[..<count]
        }
    }
}
