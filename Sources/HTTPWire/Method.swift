// Request methods by number (RFC 9110 section 9). A method is compared with its case.

/// The methods that some rule speaks of; every other token is `other`.
@usableFromInline
@frozen
package enum Method: UInt8, CaseIterable, Sendable {
    case other = 0
    case get, head, post, put, delete, options, trace, connect, patch

    /// Sending it twice means what sending it once does (RFC 9110 section 9.2.2); an unknown method
    /// is taken not to be.
    @inlinable
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace: true
        case .other, .post, .connect, .patch: false
        }
    }

    /// It asks for nothing to be changed (RFC 9110 section 9.2.1).
    @inlinable
    package var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        case .other, .post, .put, .delete, .connect, .patch: false
        }
    }

    /// The method of that name.
    @inline(__always)
    init(_ name: UnsafeRawPointer, count: Int) {
        self =
            switch count {
            case 3: Self.is(name, "GET") ? .get : Self.is(name, "PUT") ? .put : .other
            case 4: Self.is(name, "POST") ? .post : Self.is(name, "HEAD") ? .head : .other
            case 5: Self.is(name, "PATCH") ? .patch : Self.is(name, "TRACE") ? .trace : .other
            case 6: Self.is(name, "DELETE") ? .delete : .other
            case 7:
                Self.is(name, "OPTIONS")
                    ? .options : Self.is(name, "CONNECT") ? .connect : .other
            default: .other
            }
    }

    @inline(__always)
    private static func `is`(_ name: UnsafeRawPointer, _ method: StaticString) -> Bool {
        for offset in 0..<method.utf8CodeUnitCount
        where name.load(fromByteOffset: offset, as: UInt8.self) != method.utf8Start[offset] {
            return false
        }
        return true
    }
}
