// Makes a text of a server's fit for a terminal, a log line or a page: one line, no control
// characters, bounded. It does not escape for HTML; whoever writes HTML does.

import Bytes
import Vocabulary

enum DisplayText {
    /// The text without control, format and other invisible characters, cut to `lettersMax`.
    static func clean(_ text: SecretBytes, lettersMax: Int = 300) -> String {
        clean(text.withBytes { String(decoding: $0, as: UTF8.self) }, lettersMax: lettersMax)
    }

    static func clean(_ text: String, lettersMax: Int = 300) -> String {
        cut(visible(text), lettersMax)
    }

    /// The cleaned text with every occurrence of a secret, bare or form-encoded, replaced:
    /// some servers quote the refused token in their error description.
    static func clean(
        _ text: SecretBytes, hiding secrets: [SecretBytes], lettersMax: Int = 300
    ) -> String {
        // Hidden after the invisible letters went, which could stand within a secret, and before
        // the end is cut off, which could leave half of one.
        var bytes = Array(visible(text.withBytes { String(decoding: $0, as: UTF8.self) }).utf8)
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        for secret in secrets where secret.count >= hiddenBytesMin {
            secret.withBytes { hide($0, in: &bytes) }
            FormEncoding.encode(value: secret).withBytes { hide($0, in: &bytes) }
        }
        return cut(String(decoding: bytes, as: UTF8.self), lettersMax)
    }

    /// Shorter values are no secrets, and hiding them would hide words.
    private static let hiddenBytesMin = 4

    private static func visible(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter(isVisible)))
    }

    private static func cut(_ text: String, _ lettersMax: Int) -> String {
        let scalars = text.unicodeScalars
        guard
            let end = scalars.index(
                scalars.startIndex, offsetBy: lettersMax, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return text }
        return String(scalars[..<end]) + "…"
    }

    private static func hide(_ secret: UnsafeRawBufferPointer, in bytes: inout [UInt8]) {
        var start = 0
        while start + secret.count <= bytes.count {
            if bytes[start..<(start + secret.count)].elementsEqual(secret) {
                let mark = Array("[secret]".utf8)
                bytes.replaceSubrange(start..<(start + secret.count), with: mark)
                start += mark.count
            } else {
                start += 1
            }
        }
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }
}
