// Frames of HTTP/2 as bytes (RFC 9113 section 4), for peers that break rules. Fields are written without
// compression (RFC 7541 section 6.2.2), so that a test says exactly what is on the wire.

/// Writes frames; nothing is checked.
package enum HTTP2Frame {
    package static let preface: Octets = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    package enum Kind: UInt8 {
        case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate
        case continuation
    }

    package static let endStream: UInt8 = 1
    package static let acknowledgement: UInt8 = 1
    package static let endHeaders: UInt8 = 4

    /// Any frame.
    package static func frame(
        _ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: Octets = ""
    ) -> Octets {
        let count = UInt32(payload.count)
        return Octets(
            [UInt8(truncatingIfNeeded: count >> 16), UInt8(truncatingIfNeeded: count >> 8)]
                + [UInt8(truncatingIfNeeded: count), kind, flags] + big(stream) + payload.bytes)
    }

    package static func frame(
        _ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: Octets = ""
    ) -> Octets { frame(kind.rawValue, flags: flags, stream: stream, payload) }

    package static func settings(_ values: [(UInt16, UInt32)] = []) -> Octets {
        frame(
            .settings,
            Octets(
                values.flatMap { [UInt8($0.0 >> 8), UInt8(truncatingIfNeeded: $0.0)] + big($0.1) }))
    }

    package static func headers(
        _ stream: UInt32, _ fields: [(String, String)], endsStream: Bool = true,
        neverIndexed: Set<String> = []
    ) -> Octets {
        frame(
            .headers, flags: endHeaders | (endsStream ? endStream : 0), stream: stream,
            block(fields, neverIndexed: neverIndexed))
    }

    /// A GET of a path of `localhost`.
    package static func get(_ stream: UInt32, _ path: String = "/") -> Octets {
        headers(
            stream,
            [
                (":method", "GET"), (":scheme", "http"), (":path", path),
                (":authority", "localhost"),
            ])
    }

    package static func data(
        _ stream: UInt32, _ bytes: Octets, endsStream: Bool = false
    ) -> Octets { frame(.data, flags: endsStream ? endStream : 0, stream: stream, bytes) }

    package static func reset(_ stream: UInt32, _ code: UInt32 = 8) -> Octets {
        frame(.reset, stream: stream, Octets(big(code)))
    }

    package static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> Octets {
        frame(.windowUpdate, stream: stream, Octets(big(increment)))
    }

    package static func ping() -> Octets { frame(.ping, "12345678") }

    package static func goAway(last: UInt32, _ code: UInt32 = 0) -> Octets {
        frame(.goAway, Octets(big(last) + big(code)))
    }

    /// A header block; names in `neverIndexed` are marked so (RFC 7541 section 6.2.3).
    package static func block(
        _ fields: [(String, String)], neverIndexed: Set<String> = []
    ) -> Octets {
        Octets(
            fields.flatMap { name, value in
                [neverIndexed.contains(name) ? 0x10 : 0] + string(Octets(name))
                    + string(Octets(value))
            })
    }

    /// A length with seven bits before more (RFC 7541 section 5.1), and the bytes.
    private static func string(_ text: Octets) -> [UInt8] {
        guard text.count >= 127 else { return [UInt8(text.count)] + text.bytes }
        var rest = text.count - 127
        var length: [UInt8] = [127]
        while rest >= 128 {
            length.append(UInt8(rest % 128) | 0x80)
            rest /= 128
        }
        return length + [UInt8(rest)] + text.bytes
    }

    private static func big(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// Kinds, flags, streams and payloads of the whole frames in some bytes.
    package static func split(
        _ octets: Octets
    ) -> [(kind: UInt8, flags: UInt8, stream: UInt32, payload: Octets)] {
        var frames: [(kind: UInt8, flags: UInt8, stream: UInt32, payload: Octets)] = []
        let bytes = octets.bytes
        var offset = 0
        while offset + 9 <= bytes.count {
            let count = bytes[offset..<offset + 3].reduce(0) { $0 << 8 | Int($1) }
            guard offset + 9 + count <= bytes.count else { break }
            let stream = bytes[offset + 5..<offset + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            frames.append(
                (
                    bytes[offset + 3], bytes[offset + 4], stream,
                    Octets(bytes[offset + 9..<offset + 9 + count])
                ))
            offset += 9 + count
        }
        return frames
    }
}
