// Why TLS failed, as facts and as one line for a person. It never holds bytes that were exchanged.

import COpenSSL

/// What ends a connection, or keeps a context from being made.
package enum TLSError: Error, Hashable, Sendable {
    /// The host is empty or could not stand in a certificate.
    case invalidHost
    case fileUnreadable(path: String)
    case noCertificate(path: String)
    case keyMismatch(path: String)

    case certificateExpired
    case certificateNotYetValid
    case certificateRevoked
    case hostnameMismatch
    /// Nobody whom we trust has signed the certificate, or it has signed itself.
    case unknownAuthority
    /// The certificate is good, but no key of its chain is one of those that were pinned.
    case keyNotPinned
    /// Any other fault of the certificate; an `X509_V_ERR_…` code.
    case certificateInvalid(code: Int)

    /// The other side gave up with this alert (RFC 8446 section 6).
    case refusedByPeer(alert: UInt8)
    /// What came is no TLS at all.
    case notTLS
    /// Both sides share no version or cipher.
    case nothingInCommon
    /// Any other breach of the protocol; a packed OpenSSL error code.
    case protocolViolation(code: UInt)
    /// The transport ended without close_notify: what came before it may be incomplete.
    case truncated
}

extension TLSError {
    /// One line for a person, without a full stop.
    package var reason: String {
        switch self {
        case .invalidHost: "the host name cannot be verified"
        case .fileUnreadable(let path): "cannot read \"\(path)\""
        case .noCertificate(let path): "no usable certificate in \"\(path)\""
        case .keyMismatch(let path): "no key for the certificate in \"\(path)\""
        case .certificateExpired: "the certificate has expired"
        case .certificateNotYetValid: "the certificate is not valid yet (is the clock right?)"
        case .certificateRevoked: "the certificate was revoked"
        case .hostnameMismatch: "the certificate is for another host"
        case .unknownAuthority:
            "the certificate is signed by nobody trusted here"
                + " (a private authority needs ca_file; public ones the package ca-certificates)"
        case .keyNotPinned: "the certificate's key is none of the pinned ones"
        case .certificateInvalid(let code):
            "the certificate is invalid: " + String(cString: X509_verify_cert_error_string(code))
        case .refusedByPeer(let alert):
            "the other side refused: " + String(cString: SSL_alert_desc_string_long(Int32(alert)))
        case .notTLS: "the other side does not speak TLS (is it plain http?)"
        case .nothingInCommon: "the other side offers no TLS version or cipher that is safe"
        case .protocolViolation(let code):
            ERR_reason_error_string(code).map { "TLS failed: " + String(cString: $0) }
                ?? "TLS failed"
        case .truncated: "the connection broke off"
        }
    }
}

extension TLSError {
    /// Reads the failure of the last call on `ssl` and empties the error queue of this thread.
    init(takingFailureOf ssl: OpaquePointer) {
        let code = TLSError.takeQueue()
        let reason = Int32(truncatingIfNeeded: ERR_GET_REASON(code))
        guard ERR_GET_LIB(code) == ERR_LIB_SSL else {
            // An empty queue means that the transport ended (SSL_get_error(3), SSL_ERROR_SYSCALL).
            self = code == 0 ? .truncated : .protocolViolation(code: code)
            return
        }
        switch reason {
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            self.init(verification: Int32(truncatingIfNeeded: SSL_get_verify_result(ssl)))
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            self = .truncated
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST,
            SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_RECORD_LENGTH_MISMATCH:
            self = .notTLS
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_NO_SHARED_CIPHER:
            self = .nothingInCommon
        case SSL_AD_REASON_OFFSET..<SSL_AD_REASON_OFFSET + 256:
            self = .refusedByPeer(alert: UInt8(reason - SSL_AD_REASON_OFFSET))
        default:
            self = .protocolViolation(code: code)
        }
    }

    private init(verification code: Int32) {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: self = .certificateExpired
        case X509_V_ERR_CERT_NOT_YET_VALID: self = .certificateNotYetValid
        case X509_V_ERR_CERT_REVOKED: self = .certificateRevoked
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: self = .hostnameMismatch
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            self = .unknownAuthority
        default: self = .certificateInvalid(code: Int(code))
        }
    }

    /// Empties the error queue; the oldest error of the TLS code itself, else the oldest, else 0.
    static func takeQueue() -> UInt {
        var chosen: UInt = 0
        while true {
            let code = ERR_get_error()
            if code == 0 { return chosen }
            if chosen == 0
                || (ERR_GET_LIB(chosen) != ERR_LIB_SSL && ERR_GET_LIB(code) == ERR_LIB_SSL)
            {
                chosen = code
            }
        }
    }
}
