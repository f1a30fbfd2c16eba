// What a loop, a listener or a stream can fail with, translated at libuv's border.

import CUV

/// A failed system call, as libuv reports it.
public struct ReactorError: Error, Hashable, Sendable {
    /// A negative errno, libuv's form (uv-errno.h).
    package let code: Int32

    package init(code: Int32) { self.code = code }

    /// libuv's short name, such as `ECONNRESET`.
    package var name: String { String(cString: uv_err_name(code)) }

    /// libuv's sentence, such as `connection reset by peer`.
    package var reason: String { String(cString: uv_strerror(code)) }

    /// TLS failed; the stream's `tlsFailure` says how.
    package static let tls = ReactorError(code: UV_EPROTO.rawValue)
    package static let addressInUse = ReactorError(code: UV_EADDRINUSE.rawValue)
    package static let addressNotAvailable = ReactorError(code: UV_EADDRNOTAVAIL.rawValue)
    package static let familyNotSupported = ReactorError(code: UV_EAFNOSUPPORT.rawValue)
    package static let tooManyFiles = ReactorError(code: UV_EMFILE.rawValue)
}

extension ReactorError: CustomStringConvertible {
    public var description: String { "\(name): \(reason)" }
}

/// Throws what a libuv call returned, unless it succeeded.
func check(_ result: Int32) throws(ReactorError) {
    if result < 0 { throw ReactorError(code: result) }
}
