// Copies the lines of a head that are kept. Lines that stand side by side and are written as we would
// write them go out in one copy.

import Bytes
import HTTPWire

enum FieldCopy {
    /// Writes each kept line as `name: value` CR LF, in order, bytes unchanged. Lines that Connection
    /// names are dropped, Content-Length excepted: what frames a message is ours to say.
    static func write(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer,
        dropping drops: borrowing FieldNameSet, keepsLength: Bool, keepsTrailer: Bool,
        into output: inout ByteBuffer
    ) {
        guard let base = bytes.baseAddress else { return }
        var dropped = drops.known
        if !keepsLength { dropped.insert(.contentLength) }
        if !keepsTrailer { dropped.insert(.trailer) }
        var runStart = 0
        var runEnd = 0
        for index in 0..<head.fieldCount {
            let field = head.fields[index]
            let isKept: Bool
            switch field.known {
            case .other:
                let name = field.name.bytes(in: bytes)
                isKept =
                    !field.isNamedByConnection && !drops.containsOther(name)
                    && !(field.isOddlyNamed && drops.containsSpelling(name))
            case .contentLength: isKept = !dropped.contains(.contentLength)
            case let known: isKept = !field.isNamedByConnection && !dropped.contains(known)
            }
            let start = Int(field.name.start)
            if isKept && field.isTight {
                if start != runEnd {
                    output.append(
                        UnsafeRawBufferPointer(start: base + runStart, count: runEnd - runStart))
                    runStart = start
                }
                runEnd = field.value.end &+ 2
            } else if isKept {
                output.append(
                    UnsafeRawBufferPointer(start: base + runStart, count: runEnd - runStart))
                runStart = 0
                runEnd = 0
                output.append(field.name.bytes(in: bytes))
                output.append(": ")
                output.append(field.value.bytes(in: bytes))
                output.append("\r\n")
            }
        }
        output.append(UnsafeRawBufferPointer(start: base + runStart, count: runEnd - runStart))
    }
}

extension MessageHead {
    /// Whether a TE field lists `trailers` (RFC 9110 section 10.1.4).
    package func asksForTrailers(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard present.contains(.te) else { return false }
        for index in 0..<fieldCount where fields[index].known == .te {
            let value = fields[index].value.bytes(in: bytes)
            // As gRPC's clients write it; nothing is allocated.
            if ASCII.equalsIgnoringCase(value, "trailers") { return true }
            for element in value.split(separator: ASCII.comma)
            where ASCII.equalsIgnoringCase(Self.trimmed(element), "trailers") {
                return true
            }
        }
        return false
    }

    private static func trimmed(_ element: Slice<UnsafeRawBufferPointer>) -> UnsafeRawBufferPointer
    {
        var element = element
        while let byte = element.first, byte == ASCII.space || byte == ASCII.tab {
            element.removeFirst()
        }
        while let byte = element.last, byte == ASCII.space || byte == ASCII.tab {
            element.removeLast()
        }
        return UnsafeRawBufferPointer(rebasing: element)
    }
}
