// Turns the text of an HTTP/1.1 head into the fields of an HTTP/2 message: the first line into
// pseudo-fields, names into lower case, and what concerns one HTTP/1 connection left out.

import Bytes
import CNGHTTP2
import HTTPWire

/// nghttp2's list of fields; it points into the text and is good until the text changes.
struct FieldLines: ~Copyable {
    private var fields: [nghttp2_nv] = []

    func withFields<Result>(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
        fields.withUnsafeBufferPointer(body)
    }

    /// RFC 9113 section 8.2.2. TE goes through where it says `trailers`, which is all that heads of ours
    /// ever say there.
    private static let connectionFields: KnownFieldSet = [
        .connection, .proxyConnection, .keepAlive, .transferEncoding, .upgrade, .http2Settings,
    ]

    /// What is kept out of nghttp2's compression table whoever wrote it, so that nobody who shares the connection
    /// can guess at it by lengths (RFC 7541 section 7.1.3). nghttp2 itself keeps :path and Set-Cookie out.
    private static let secretFields: KnownFieldSet = [.authorization, .dpop]

    /// A response's head, whole. Names in it are changed to lower case. False when it is no head.
    mutating func readResponse(
        _ text: UnsafeMutableRawBufferPointer, _ neverIndexed: NeverIndexed
    ) -> Bool {
        fields.removeAll(keepingCapacity: true)
        let bytes = UnsafeRawBufferPointer(text)
        guard bytes.count >= 12, let end = bytes.firstIndex(of: ASCII.carriageReturn) else {
            return false
        }
        add(":status", UnsafeRawBufferPointer(rebasing: bytes[9..<12]))
        readLines(
            UnsafeMutableRawBufferPointer(rebasing: text[min(end + 2, text.count)...]), neverIndexed
        )
        return true
    }

    /// Turns the head that agrees to another protocol into the one that says so in HTTP/2
    /// (RFC 8441 section 5).
    mutating func agreeToTunnel() {
        guard let status = fields.first,
            UnsafeRawBufferPointer(start: status.value, count: status.valuelen)
                .elementsEqual(Self.bytes("101"))
        else { return }
        fields[0] = Self.field(Self.bytes(":status"), Self.bytes("200"))
        fields.removeAll { field in
            KnownField.named(UnsafeRawBufferPointer(start: field.name, count: field.namelen))
                == .secWebSocketAccept
        }
    }

    /// A request's head, whole. Its Host becomes :authority; lines at `secretsFrom` bytes and behind are kept out
    /// of the compression table, whatever their names.
    mutating func readRequest(
        _ text: UnsafeMutableRawBufferPointer, isSecure: Bool, secretsFrom: Int,
        _ neverIndexed: NeverIndexed
    ) -> Bool {
        fields.removeAll(keepingCapacity: true)
        let bytes = UnsafeRawBufferPointer(text)
        guard let end = bytes.firstIndex(of: ASCII.carriageReturn),
            let methodEnd = bytes[..<end].firstIndex(of: ASCII.space),
            let targetEnd = bytes[(methodEnd + 1)..<end].firstIndex(of: ASCII.space)
        else { return false }
        add(":method", UnsafeRawBufferPointer(rebasing: bytes[..<methodEnd]))
        add(":scheme", Self.bytes(isSecure ? "https" : "http"))
        // Where :authority goes; without a Host there is none.
        let authority = fields.count
        fields.append(
            Self.field(
                Self.bytes(":path"),
                UnsafeRawBufferPointer(rebasing: bytes[(methodEnd + 1)..<targetEnd]),
                isSecret: neverIndexed.path))
        let start = min(end + 2, text.count)
        readLines(
            UnsafeMutableRawBufferPointer(rebasing: text[start...]), neverIndexed,
            hostAt: authority, secretsFrom: secretsFrom - start)
        return true
    }

    /// Trailers, or any lines without a first one.
    mutating func readTrailers(
        _ text: UnsafeMutableRawBufferPointer, _ neverIndexed: NeverIndexed
    ) {
        fields.removeAll(keepingCapacity: true)
        readLines(text, neverIndexed)
    }

    private mutating func readLines(
        _ text: UnsafeMutableRawBufferPointer, _ neverIndexed: NeverIndexed,
        hostAt authority: Int? = nil, secretsFrom: Int = .max
    ) {
        let bytes = UnsafeRawBufferPointer(text)
        let count = bytes.count
        var start = 0
        while start < count, bytes[start] != ASCII.carriageReturn {
            var colon = start
            while colon < count, bytes[colon] != ASCII.colon {
                text[colon] = ASCII.lowercased(bytes[colon])
                colon &+= 1
            }
            var end = colon
            while end < count, bytes[end] != ASCII.carriageReturn { end &+= 1 }
            guard end < count else { return }
            let name = UnsafeRawBufferPointer(rebasing: bytes[start..<colon])
            let value = UnsafeRawBufferPointer(rebasing: bytes[min(colon + 2, end)..<end])
            let known = KnownField.named(name)
            if known == .host, let authority {
                fields.insert(
                    Self.field(Self.bytes(":authority"), value), at: authority)
            } else if !Self.connectionFields.contains(known) {
                let isSecret =
                    start >= secretsFrom || Self.secretFields.contains(known)
                    || neverIndexed.contains(known)
                fields.append(Self.field(name, value, isSecret: isSecret))
            }
            start = end + 2
        }
    }

    private mutating func add(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        fields.append(Self.field(Self.bytes(name), value))
    }

    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// nghttp2 copies names and values.
    private static func field(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isSecret: Bool = false
    ) -> nghttp2_nv {
        nghttp2_nv(
            name: pointer(name), value: pointer(value), namelen: name.count,
            valuelen: value.count,
            flags: UInt8(
                truncatingIfNeeded: isSecret
                    ? NGHTTP2_NV_FLAG_NO_INDEX.rawValue : NGHTTP2_NV_FLAG_NONE.rawValue))
    }

    private static func pointer(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<UInt8> {
        // nghttp2 reads through this and never writes; an empty value needs an address all the same.
        guard let base = bytes.baseAddress else { return empty }
        return UnsafeMutableRawPointer(mutating: base).assumingMemoryBound(to: UInt8.self)
    }

    // SAFETY: one byte that is written here once and read by nobody.
    private nonisolated(unsafe) static let empty: UnsafeMutablePointer<UInt8> = {
        let byte = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        byte.initialize(to: 0)
        return byte
    }()
}
