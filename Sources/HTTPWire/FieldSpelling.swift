// Names that a server may take for one. CGI and what came after it (WSGI, Rack, PHP) hand fields on as
// variables, HTTP_X_API_KEY, which `X-Api-Key`, `X_Api_Key` and `X.Api.Key` all turn into; a rule about one
// must hold for all.

import Bytes

/// Compares names as such a server does (RFC 3875 section 4.1.18; RFC 9110 section 17.10): letters without
/// case, and all that is neither letter nor digit as a hyphen.
package enum FieldSpelling {
    @inline(__always)
    package static func folded(_ byte: UInt8) -> UInt8 {
        let lower = ASCII.lowercased(byte)
        return lower &- 0x61 < 26 || ASCII.isDigit(lower) ? lower : ASCII.hyphen
    }

    /// - Parameter folded: a name whose bytes are folded.
    package static func isSame(
        _ name: UnsafeRawBufferPointer, as folded: [UInt8]
    ) -> Bool {
        guard name.count == folded.count else { return false }
        for index in 0..<folded.count where Self.folded(name[index]) != folded[index] {
            return false
        }
        return true
    }

    /// The known field that a name is a spelling of.
    package static func known(_ name: UnsafeRawBufferPointer) -> KnownField {
        guard name.count <= KnownFieldTable.nameBytesMax else { return .other }
        return withUnsafeTemporaryAllocation(byteCount: name.count, alignment: 1) { folded in
            for index in 0..<name.count { folded[index] = Self.folded(name[index]) }
            return KnownField.named(UnsafeRawBufferPointer(folded))
        }
    }
}
