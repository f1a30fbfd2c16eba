// The four forms of a request target (RFC 9112 section 3.2), told apart without decoding a byte.

import Bytes

/// A target taken apart; ranges refer to the bytes that the head was parsed from.
@usableFromInline
@frozen
package struct RequestTarget: Hashable, Sendable {
    @usableFromInline
    @frozen
    package enum Form: UInt8, Sendable {
        /// `/path?query`.
        case origin
        /// `http://authority/path?query`; its authority replaces the Host field (section 3.2.2).
        case absolute
        /// `host:port`, with CONNECT only.
        case authority
        /// `*`, with OPTIONS only.
        case asterisk
    }

    @usableFromInline package var form: Form
    /// The scheme of the absolute form, without `://`.
    @usableFromInline package var scheme: ByteRange
    /// Of the absolute and authority forms; never with user information.
    @usableFromInline package var authority: ByteRange
    /// Path and query as they came; empty when an absolute form ends behind its authority, and in the
    /// other two forms.
    @usableFromInline package var path: ByteRange

    @usableFromInline
    init(form: Form, scheme: ByteRange, authority: ByteRange, path: ByteRange) {
        self.form = form
        self.scheme = scheme
        self.authority = authority
        self.path = path
    }
}

extension MessageHead {
    /// Takes the target of a request apart. Refuses a form that the method does not allow, a scheme
    /// other than http and https, and user information in an authority (RFC 9110 section 4.2.4).
    @inlinable
    package func requestTarget(
        in bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> RequestTarget {
        if target.bytes(in: bytes).first == 0x2F && method != .connect {
            return RequestTarget(form: .origin, scheme: .empty, authority: .empty, path: target)
        }
        return try unusualTarget(in: bytes)
    }

    @usableFromInline
    func unusualTarget(in bytes: UnsafeRawBufferPointer) throws(WireError) -> RequestTarget {
        let text = target.bytes(in: bytes)
        let start = Int(target.start)
        if method == .connect {
            guard !text.contains(where: Self.endsAuthority), !text.contains(0x40) else {
                throw .invalidTarget
            }
            return RequestTarget(form: .authority, scheme: .empty, authority: target, path: .empty)
        }
        if text.count == 1 && text[0] == 0x2A {
            guard method == .options else { throw .invalidTarget }
            return RequestTarget(form: .asterisk, scheme: .empty, authority: .empty, path: .empty)
        }
        guard let colon = text.firstIndex(of: ASCII.colon), colon + 3 <= text.count,
            text[colon + 1] == ASCII.slash, text[colon + 2] == ASCII.slash
        else { throw .invalidTarget }
        let scheme = UnsafeRawBufferPointer(rebasing: text[..<colon])
        guard
            ASCII.equalsIgnoringCase(scheme, "http") || ASCII.equalsIgnoringCase(scheme, "https")
        else { throw .invalidTarget }
        let rest = text[(colon + 3)...]
        let end = rest.firstIndex(where: Self.endsAuthority) ?? text.count
        let authority = text[(colon + 3)..<end]
        guard !authority.isEmpty, !authority.contains(0x40) else { throw .invalidTarget }
        return RequestTarget(
            form: .absolute, scheme: ByteRange(start: start, end: start + colon),
            authority: ByteRange(start: start + colon + 3, end: start + end),
            path: ByteRange(start: start + end, end: start + text.count))
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == ASCII.slash || byte == ASCII.question || byte == 0x5C
    }
}
