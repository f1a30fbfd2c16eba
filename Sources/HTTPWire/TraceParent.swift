// The one part of a trace's context that a log repeats: the trace's id (W3C Trace Context, section 3.2).
// The field itself is passed on as it came, whatever it says; what is not well formed is not repeated.

import Bytes

package enum TraceParent {
    /// The trace's id, 32 digits, of the value of a `traceparent` field; nil where that is not well
    /// formed. A later version may have more behind the flags.
    package static func traceID(in value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        // 00-<32>-<16>-<2>
        guard value.count >= 55, value[2] == dash, value[35] == dash, value[52] == dash,
            isHexadecimal(value, 0..<2), isHexadecimal(value, 3..<35),
            isHexadecimal(value, 36..<52), isHexadecimal(value, 53..<55)
        else { return nil }
        let isFirstVersion = value[0] == ASCII.zero && value[1] == ASCII.zero
        let isForbidden = value[0] == lastDigit && value[1] == lastDigit
        guard !isForbidden, value.count == 55 || (!isFirstVersion && value[55] == dash) else {
            return nil
        }
        let trace = UnsafeRawBufferPointer(rebasing: value[3..<35])
        guard !trace.allSatisfy({ $0 == ASCII.zero }),
            !value[36..<52].allSatisfy({ $0 == ASCII.zero })
        else { return nil }
        return trace
    }

    /// The same of a whole head; nil also where there are several such fields.
    package static func traceID(inHead head: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var found: UnsafeRawBufferPointer?
        var rest = head[...]
        while let end = rest.firstIndex(of: ASCII.lineFeed) {
            let line = UnsafeRawBufferPointer(rebasing: rest[..<end])
            rest = rest[(end + 1)...]
            guard line.count > name.utf8CodeUnitCount,
                ASCII.equalsIgnoringCase(
                    UnsafeRawBufferPointer(rebasing: line[..<name.utf8CodeUnitCount]), name)
            else { continue }
            guard found == nil else { return nil }
            var value = line[name.utf8CodeUnitCount...]
            while let first = value.first, isSpace(first) { value = value.dropFirst() }
            while let last = value.last, isSpace(last) { value = value.dropLast() }
            found = UnsafeRawBufferPointer(rebasing: value)
        }
        return found.flatMap { traceID(in: $0) }
    }

    private static let name: StaticString = "traceparent:"
    private static let dash = UInt8(ascii: "-")
    private static let lastDigit = UInt8(ascii: "f")

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == ASCII.space || byte == 0x09 || byte == 0x0D
    }

    /// Lower case only, as the specification demands.
    private static func isHexadecimal(
        _ value: UnsafeRawBufferPointer, _ range: Range<Int>
    ) -> Bool {
        value[range].allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
