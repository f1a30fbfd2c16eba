// What a client remembers of a server so that the next handshake is short (RFC 8446 section 2.2).

import COpenSSL

/// Owns an `SSL_SESSION`. It is offered only to the host that gave it out and under the same context,
/// since a resumed handshake verifies no certificate.
package final class TLSSession: Sendable {
    // SAFETY: an SSL_SESSION counts its references atomically and is not changed after it was given
    // out.
    nonisolated(unsafe) let pointer: OpaquePointer
    let host: String
    let context: TLSContext

    /// Takes a reference of its own.
    init(sharing pointer: OpaquePointer, host: String, context: TLSContext) {
        SSL_SESSION_up_ref(pointer)
        self.pointer = pointer
        self.host = host
        self.context = context
    }

    deinit {
        SSL_SESSION_free(pointer)
    }
}
