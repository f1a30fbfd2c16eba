// What a path in the configuration must look like: a route's prefix and an upstream's base path are
// written out, octet for octet, in what goes upstream. Nothing is decoded, merged or resolved.

import Bytes

enum PathPrefix {
    /// Whether the text is empty or an absolute path of allowed octets (RFC 3986 section 3.3) that
    /// holds no dot segment: those mean another path than they spell.
    static func isWellFormed(_ path: String) -> Bool {
        let bytes = Array(path.utf8)
        guard let first = bytes.first else { return true }
        guard first == ASCII.slash else { return false }
        for (index, byte) in bytes.enumerated() {
            if byte == ASCII.percent {
                guard index + 2 < bytes.count, ASCII.hexValue(bytes[index + 1]) != nil,
                    ASCII.hexValue(bytes[index + 2]) != nil
                else { return false }
            } else if !isPathByte(byte) {
                return false
            }
        }
        return bytes.withUnsafeBytes { !DotSegments.occur(in: $0) }
    }

    /// Without the slashes at the end, so that "/api" and "/api/" name one prefix and "/" the root.
    static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.utf8.last == ASCII.slash { path = path.dropLast() }
        return String(path)
    }

    /// pchar or "/" (RFC 3986 sections 3.3 and 2.2), the percent sign left out.
    private static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"): true
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"): true
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: ":"): true
        case UInt8(ascii: "@"), ASCII.slash: true
        default: false
        }
    }
}
