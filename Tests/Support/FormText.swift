// application/x-www-form-urlencoded, read and written by the fakes.

/// Names and values in their order; a name may repeat.
package struct FormText: Sendable {
    package var pairs: [(name: String, value: String)]

    package init(_ pairs: [(name: String, value: String)]) { self.pairs = pairs }

    /// Reads a query or a form body.
    package init(reading text: String) {
        pairs = text.components(separatedBy: "&").filter { !$0.isEmpty }.map { pair in
            let parts = pair.components(separatedBy: "=")
            let value = parts.dropFirst().joined(separator: "=")
            return (FormText.decoded(parts[0]), FormText.decoded(value))
        }
    }

    /// The value of a name that must come exactly once.
    package subscript(name: String) -> String? {
        let values = values(name)
        return values.count == 1 ? values[0] : nil
    }

    package func values(_ name: String) -> [String] {
        pairs.filter { $0.name == name }.map(\.value)
    }

    package var encoded: String {
        pairs.map { FormText.encoded($0.name) + "=" + FormText.encoded($0.value) }
            .joined(separator: "&")
    }

    package static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case 0x20: encoded += "+"
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return encoded
    }

    package static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case 0x2B: bytes.append(0x20)
            case 0x25:
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                if let value = UInt8(digits, radix: 16), rest.count >= 2 {
                    bytes.append(value)
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// JSON text of a string, for the fakes' documents (RFC 8259 section 7).
package func jsonText(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": quoted += "\\\""
        case "\\": quoted += "\\\\"
        case _ where scalar.value < 0x20:
            let digits = String(scalar.value, radix: 16)
            quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}
