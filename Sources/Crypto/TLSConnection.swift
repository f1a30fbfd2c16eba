// One TLS connection between two runs of bytes. It moves ciphertext in and out of memory and never
// touches a socket, a clock or another thread; whoever owns it does the I/O.

package import Bytes
import COpenSSL

/// Owns an `SSL`. One thread at a time.
///
/// What comes from the transport goes to `feed`, its end to `feedEnd`. After every call that may
/// produce ciphertext (`handshake`, `read`, `write`, `shutdown`, also one that fails: it leaves the
/// alert for the other side) the owner sends `pendingCiphertext`.
package struct TLSConnection: ~Copyable {
    /// How far a call got.
    package enum Progress: Hashable, Sendable {
        /// This many bytes of plaintext were moved; 0 from a finished handshake.
        case ready(Int)
        /// Feed more ciphertext.
        case wantRead
        /// Send pending ciphertext first.
        case wantWrite
        /// The other side said that nothing more will come (close_notify).
        case closed
        /// Final: every later call says the same.
        case failed(TLSError)
    }

    /// `read` and `write` stop while more ciphertext than this waits to be sent. It can be exceeded
    /// by one record and by answers to what was fed.
    package static let pendingBytesMax = 64 * 1024

    private let ssl: OpaquePointer
    // Never assigned again: a compiler with assertions, building for the thread sanitizer, ends over what is
    // reached through a constant of a noncopyable value (emitTsanInoutAccess in Swift 6.2).
    private var channel: UnsafeMutablePointer<TLSChannel>
    private let context: TLSContext
    private let host: String
    private var failure: TLSError?

    /// A client that accepts only a certificate for `host`: a name (also sent as SNI, RFC 6066
    /// section 3) or an address literal without brackets.
    package init(
        client context: TLSContext, host: String, session: TLSSession? = nil
    ) throws(TLSError) {
        let name = try VerifiableHost(host)
        self.init(context, host: name.text)
        name.require(on: ssl)
        if let session, session.host == name.text, session.context === context {
            SSL_set_session(ssl, session.pointer)
        }
        SSL_set_connect_state(ssl)
    }

    package init(server context: TLSContext) {
        self.init(context, host: "")
        SSL_set_accept_state(ssl)
    }

    private init(_ context: TLSContext, host: String) {
        guard let ssl = SSL_new(context.pointer) else { outOfMemory() }
        self.ssl = ssl
        self.context = context
        self.host = host
        channel = .allocate(capacity: 1)
        channel.initialize(to: TLSChannel())
        TLSChannel.attach(channel, to: ssl)
    }

    deinit {
        SSL_free(ssl)
        channel.deinitialize(count: 1)
        channel.deallocate()
    }
}

// MARK: - Ciphertext

extension TLSConnection {
    /// Copies what the transport brought. Call `handshake` or `read` until they want more before
    /// feeding again; that bounds what is held.
    package mutating func feed(_ ciphertext: UnsafeRawBufferPointer) {
        channel.pointee.input.append(ciphertext)
    }

    /// The transport has ended. What was fed can still be read; then comes `.closed` if the other
    /// side had announced it, else `.failed(.truncated)`.
    package mutating func feedEnd() {
        channel.pointee.hasInputEnded = true
    }

    /// Ciphertext to send, valid until the next call.
    package var pendingCiphertext: UnsafeRawBufferPointer {
        channel.pointee.output.bytes
    }

    package mutating func consumeCiphertext(_ count: Int) {
        channel.pointee.output.consume(count)
    }

    /// Moves all ciphertext to send to the end of `target`; an empty one changes places with ours,
    /// so that nothing is copied.
    package mutating func drain(into target: inout ByteBuffer) {
        if target.isEmpty {
            swap(&target, &channel.pointee.output)
            channel.pointee.output.removeAll()
        } else {
            target.append(channel.pointee.output.bytes)
            channel.pointee.output.removeAll()
        }
    }

    /// Gives back the record buffers, for a connection that will be idle: tens of kilobytes. The
    /// next record allocates them anew.
    package mutating func releaseBuffers() {
        SSL_free_buffers(ssl)
        if channel.pointee.input.isEmpty { channel.pointee.input = ByteBuffer() }
        if channel.pointee.output.isEmpty { channel.pointee.output = ByteBuffer() }
    }
}

// MARK: - Plaintext

extension TLSConnection {
    /// Goes on with the handshake; `.ready(0)` when it is done.
    package mutating func handshake() -> Progress {
        if let failure { return .failed(failure) }
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        guard result == 1 else { return outcome(of: result) }
        guard context.holdsPin(ssl) else {
            failure = .keyNotPinned
            return .failed(.keyNotPinned)
        }
        return .ready(0)
    }

    /// Decrypts as much as fits and has come. Begins or continues the handshake if need be.
    package mutating func read(into target: UnsafeMutableRawBufferPointer) -> Progress {
        if let failure { return .failed(failure) }
        guard let base = target.baseAddress, target.count > 0 else { return .ready(0) }
        var total = 0
        while total < target.count {
            if channel.pointee.output.count >= TLSConnection.pendingBytesMax {
                return total > 0 ? .ready(total) : .wantWrite
            }
            ERR_clear_error()
            var count = 0
            let result = SSL_read_ex(ssl, base + total, target.count - total, &count)
            total += count
            if result == 1 {
                if isDry { break }
                continue
            }
            let outcome = outcome(of: result)
            return total > 0 ? .ready(total) : outcome
        }
        return .ready(total)
    }

    /// Encrypts as much as may wait to be sent; `.ready` says how much. Begins or continues the
    /// handshake if need be.
    package mutating func write(_ plaintext: UnsafeRawBufferPointer) -> Progress {
        if let failure { return .failed(failure) }
        guard let base = plaintext.baseAddress, plaintext.count > 0 else { return .ready(0) }
        var total = 0
        while total < plaintext.count {
            // Asking before the call keeps OpenSSL from ever holding half a write that would have
            // to be repeated (SSL_write(3), "the same arguments").
            if channel.pointee.output.count >= TLSConnection.pendingBytesMax {
                return total > 0 ? .ready(total) : .wantWrite
            }
            ERR_clear_error()
            var count = 0
            let result = SSL_write_ex(ssl, base + total, plaintext.count - total, &count)
            total += count
            if result == 1 { continue }
            let outcome = outcome(of: result)
            return total > 0 ? .ready(total) : outcome
        }
        return .ready(total)
    }

    /// Says that nothing more will be written (close_notify). Reading goes on.
    package mutating func shutdown() {
        guard failure == nil, isEstablished else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// Nothing is left to decrypt and nothing more was announced: spares a call that would say so.
    private var isDry: Bool {
        channel.pointee.input.isEmpty && !channel.pointee.hasInputEnded
            && SSL_has_pending(ssl) == 0
    }

    private mutating func outcome(of result: Int32) -> Progress {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantRead
        case SSL_ERROR_WANT_WRITE: return .wantWrite
        case SSL_ERROR_ZERO_RETURN: return .closed
        default:
            let failure = TLSError(takingFailureOf: ssl)
            self.failure = failure
            return .failed(failure)
        }
    }
}

// MARK: - What was agreed

extension TLSConnection {
    /// Whether the handshake is done and plaintext can flow.
    package var isEstablished: Bool { SSL_is_init_finished(ssl) == 1 }

    /// Whether the handshake built on an earlier session.
    package var isResumed: Bool { SSL_session_reused(ssl) == 1 }

    /// What ALPN agreed on (RFC 7301), or nil.
    package var alpnProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// "TLSv1.3" and the like.
    package var version: String { String(cString: SSL_get_version(ssl)) }

    /// The newest session that the server gave out, for the next connection to the same host. Under
    /// TLS 1.3 it comes with the first `read` after the handshake.
    package var newestSession: TLSSession? {
        guard let session = channel.pointee.session else { return nil }
        return TLSSession(sharing: session, host: host, context: context)
    }
}
