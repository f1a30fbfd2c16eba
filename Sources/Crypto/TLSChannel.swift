// The memory that stands where OpenSSL expects a socket: ciphertext that came in and ciphertext that
// is to go out. It never fails and never blocks; limits are kept by TLSConnection.

import Bytes
import COpenSSL

/// One connection's two runs of ciphertext, and the newest session that the server gave out.
struct TLSChannel: ~Copyable {
    var input = ByteBuffer()
    var output = ByteBuffer()
    /// The transport will bring nothing more.
    var hasInputEnded = false
    /// An owned `SSL_SESSION`.
    private(set) var session: OpaquePointer?

    deinit {
        SSL_SESSION_free(session)
    }

    /// Takes over the caller's reference; 1 says so to OpenSSL (SSL_CTX_sess_set_new_cb(3)).
    mutating func keep(_ fresh: OpaquePointer) -> Int32 {
        SSL_SESSION_free(session)
        session = fresh
        return 1
    }

    /// The channel that `attach` gave to this SSL.
    static func of(ssl: OpaquePointer) -> UnsafeMutablePointer<TLSChannel> {
        SSL_get_ex_data(ssl, 0)!.assumingMemoryBound(to: TLSChannel.self)
    }

    /// Makes the channel the transport of `ssl`. It must outlive it.
    static func attach(_ channel: UnsafeMutablePointer<TLSChannel>, to ssl: OpaquePointer) {
        guard let bio = BIO_new(method), SSL_set_ex_data(ssl, 0, channel) == 1 else {
            outOfMemory()
        }
        BIO_set_data(bio, channel)
        BIO_set_init(bio, 1)
        // With one BIO for both directions the SSL takes over a single reference (SSL_set_bio(3)).
        SSL_set_bio(ssl, bio, bio)
    }

    // SAFETY: written once under Swift's lock for globals, then only read.
    private nonisolated(unsafe) static let method: OpaquePointer = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "memory")
        else { outOfMemory() }
        BIO_meth_set_read(method, readInput)
        BIO_meth_set_write(method, writeOutput)
        BIO_meth_set_ctrl(method, control)
        return method
    }()
}

private func channel(of bio: OpaquePointer?) -> UnsafeMutablePointer<TLSChannel> {
    BIO_get_data(bio).assumingMemoryBound(to: TLSChannel.self)
}

private func readInput(
    _ bio: OpaquePointer?, _ target: UnsafeMutablePointer<CChar>?, _ wanted: Int32
) -> Int32 {
    let channel = channel(of: bio)
    COpenSSL_clear_retry_flags(bio)
    let count = min(Int(wanted), channel.pointee.input.count)
    guard count > 0, let target, let source = channel.pointee.input.bytes.baseAddress else {
        if channel.pointee.hasInputEnded { return 0 }
        COpenSSL_set_retry_read(bio)
        return -1
    }
    UnsafeMutableRawPointer(target).copyMemory(from: source, byteCount: count)
    channel.pointee.input.consume(count)
    return Int32(count)
}

private func writeOutput(
    _ bio: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ count: Int32
) -> Int32 {
    COpenSSL_clear_retry_flags(bio)
    channel(of: bio).pointee.output.append(
        UnsafeRawBufferPointer(start: source, count: Int(count)))
    return count
}

private func control(
    _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ argument: UnsafeMutableRawPointer?
) -> Int {
    switch command {
    case BIO_CTRL_FLUSH: return 1
    case BIO_CTRL_EOF:
        let channel = channel(of: bio)
        return channel.pointee.hasInputEnded && channel.pointee.input.isEmpty ? 1 : 0
    default: return 0
    }
}
