// A stream's TLS state: the connection and whether its handshake is done. It exists only on streams that
// speak TLS, so a plain one pays a nil for it.

import Bytes
import Crypto

/// Owns one TLS connection.
final class TLSFilter {
    private var connection: TLSConnection
    private(set) var isEstablished = false
    private(set) var failure: TLSError?

    init(_ connection: consuming TLSConnection) {
        self.connection = connection
    }

    func feed(_ ciphertext: UnsafeRawBufferPointer) { connection.feed(ciphertext) }
    func feedEnd() { connection.feedEnd() }
    func shutdown() { connection.shutdown() }
    func releaseBuffers() { connection.releaseBuffers() }

    var newestSession: TLSSession? { connection.newestSession }
    var negotiatedProtocol: String? { connection.alpnProtocol }
    var pendingCiphertext: UnsafeRawBufferPointer { connection.pendingCiphertext }
    func consumeCiphertext(_ count: Int) { connection.consumeCiphertext(count) }

    func handshake() -> TLSConnection.Progress {
        let progress = noted(connection.handshake())
        if case .ready = progress { isEstablished = true }
        return progress
    }

    func read(into target: UnsafeMutableRawBufferPointer) -> TLSConnection.Progress {
        noted(connection.read(into: target))
    }

    func write(_ plaintext: UnsafeRawBufferPointer) -> TLSConnection.Progress {
        noted(connection.write(plaintext))
    }

    private func noted(_ progress: TLSConnection.Progress) -> TLSConnection.Progress {
        if case .failed(let failure) = progress { self.failure = failure }
        return progress
    }
}
