// What many TLS connections share: whom they trust, what they offer, who they are. Verification is
// always on and cannot be turned off; nothing older than TLS 1.2 is spoken.

import COpenSSL

/// Owns an `SSL_CTX`. Any thread may make connections from it.
package final class TLSContext: Sendable {
    // SAFETY: an SSL_CTX counts its references atomically, locks for itself and is changed only
    // while it is being made.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// See `TLSDemands.pins`.
    let pins: [[UInt8]]
    /// Kept alive for its siblings to find.
    private let trust: TrustStore?
    /// The ALPN list (RFC 7301 section 3.1) that a server chooses from.
    // SAFETY: written while the context is made; every connection keeps the context alive.
    private nonisolated(unsafe) let serverProtocols: UnsafeMutableBufferPointer<UInt8>

    /// For connections to servers. The first use of a trust loads its authorities, which takes
    /// milliseconds and reads the disk.
    package static func client(
        trust: TLSTrust, alpn: [String] = ["http/1.1"], demands: TLSDemands = TLSDemands()
    ) throws(TLSError) -> TLSContext {
        let store = try TrustStore.shared(for: trust)
        let context = TLSContext(
            TLS_client_method(), trust: store, serverProtocols: [], pins: demands.pins)
        try context.meet(demands)
        SSL_CTX_set1_cert_store(context.pointer, store.pointer)
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        let offer = wireForm(alpn)
        if !offer.isEmpty {
            // Unlike its neighbours this function returns 0 for success.
            guard SSL_CTX_set_alpn_protos(context.pointer, offer, UInt32(offer.count)) == 0
            else { outOfMemory() }
        }
        COpenSSL_set_session_cache_mode(
            context.pointer,
            Int(
                SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_LOOKUP
                    | SSL_SESS_CACHE_NO_INTERNAL_STORE))
        SSL_CTX_sess_set_new_cb(context.pointer) { ssl, session in
            guard let ssl, let session else { return 0 }
            return TLSChannel.of(ssl: ssl).pointee.keep(session)
        }
        return context
    }

    /// For connections from clients, with a PEM chain (leaf first) and its key.
    package static func server(
        certificateFile: String, keyFile: String, alpn: [String] = ["http/1.1"]
    ) throws(TLSError) -> TLSContext {
        let context = TLSContext(TLS_server_method(), trust: nil, serverProtocols: wireForm(alpn))
        try context.show(certificateFile: certificateFile, keyFile: keyFile)
        SSL_CTX_set_alpn_select_cb(
            context.pointer,
            { _, chosen, chosenCount, offered, offeredCount, argument in
                // SAFETY: every connection keeps its context alive.
                let context = Unmanaged<TLSContext>.fromOpaque(argument!).takeUnretainedValue()
                return context.chooseProtocol(chosen, chosenCount, offered, offeredCount)
            }, Unmanaged.passUnretained(context).toOpaque())
        return context
    }

    /// Has connections show a chain, leaf first, with its key.
    func show(certificateFile: String, keyFile: String) throws(TLSError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard SSL_CTX_use_certificate_chain_file(pointer, certificateFile) == 1 else {
            throw .noCertificate(path: certificateFile)
        }
        guard SSL_CTX_use_PrivateKey_file(pointer, keyFile, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(pointer) == 1
        else { throw .keyMismatch(path: keyFile) }
    }

    private init(
        _ method: OpaquePointer?, trust: TrustStore?, serverProtocols: [UInt8],
        pins: [[UInt8]] = []
    ) {
        guard let context = SSL_CTX_new(method) else { outOfMemory() }
        pointer = context
        self.pins = pins
        self.trust = trust
        self.serverProtocols = .allocate(capacity: serverProtocols.count)
        _ = self.serverProtocols.initialize(from: serverProtocols)
        // The system's policy may ask for more, never for less.
        _ = COpenSSL_set_min_version(context, TLS1_2_VERSION)
        SSL_CTX_set_options(context, COpenSSL_no_renegotiation())
        COpenSSL_set_mode(
            context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
    }

    deinit {
        SSL_CTX_free(pointer)
        serverProtocols.deallocate()
    }

    /// Ours in order of preference; without a common one the connection goes on without ALPN.
    private func chooseProtocol(
        _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ chosenCount: UnsafeMutablePointer<UInt8>?,
        _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32
    ) -> Int32 {
        var match: UnsafeMutablePointer<UInt8>?
        let found = SSL_select_next_proto(
            &match, chosenCount, serverProtocols.baseAddress, UInt32(serverProtocols.count),
            offered, offeredCount)
        guard found == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_NOACK }
        chosen?.pointee = UnsafePointer(match)
        return SSL_TLSEXT_ERR_OK
    }

    private static func wireForm(_ protocols: [String]) -> [UInt8] {
        protocols.flatMap { name in
            precondition((1...255).contains(name.utf8.count), "an ALPN name has 1 to 255 bytes")
            return [UInt8(name.utf8.count)] + Array(name.utf8)
        }
    }
}
