// What a route lets through of a trailer section: what it drops from a head, or says there itself, must not
// come behind the body instead, where some servers join it to the head (RFC 9110 section 6.5.1).

package import Bytes
import HTTPWire

extension HeaderPlan {
    /// - Parameter lines: `name: value` CR LF each, without the fields that no trailer section may carry.
    package func writeRequestTrailers(
        _ lines: UnsafeRawBufferPointer, into output: inout ByteBuffer
    ) {
        Self.write(lines, dropping: requestTrailerDrops, into: &output)
    }

    /// The same of a response.
    package func writeResponseTrailers(
        _ lines: UnsafeRawBufferPointer, into output: inout ByteBuffer
    ) {
        Self.write(lines, dropping: responseDrops, into: &output)
    }

    private static func write(
        _ lines: UnsafeRawBufferPointer, dropping drops: borrowing FieldNameSet,
        into output: inout ByteBuffer
    ) {
        var start = 0
        while start < lines.count {
            let end = lines[start...].firstIndex(of: ASCII.lineFeed).map { $0 + 1 } ?? lines.count
            let line = UnsafeRawBufferPointer(rebasing: lines[start..<end])
            let colon = line.firstIndex(of: ASCII.colon) ?? 0
            let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
            if !drops.containsOther(name), !drops.containsSpelling(name) { output.append(line) }
            start = end
        }
    }
}
