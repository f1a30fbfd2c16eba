// The line that the log has for a request: its id, what was asked for without the query, who answered what, and
// where the time went. It repeats no field of the request's but the id of its trace.

import Bytes
import Diagnostics
import Vocabulary

extension RequestRecord {
    /// Whether it is one of those that get a line. A client that went away before it was answered
    /// has not been answered in time, which is worth knowing.
    func isLogged(as wish: LoggedRequests) -> Bool {
        switch wish {
        case .none: false
        case .failed: status >= 400 || status == 0 || cut != .none
        case .all: true
        }
    }

    /// - Parameters:
    ///   - route: its name; empty for none.
    ///   - now: the loop's time, and `wall` the same moment by the wall clock.
    func writeAccessLine(
        _ line: LogLine, route: String, now: UInt64, wall: Int64, into output: inout ByteBuffer
    ) {
        let isUnwell = status >= 500 || cut == .byUpstream
        line.begin(isUnwell ? .warning : .info, "request", at: wall, into: &output)
        writeID(line, into: &output)
        if methodText.isEmpty {
            line.add("method", "-", into: &output)
            line.add("path", "-", into: &output)
        } else {
            line.add("method", methodText, into: &output)
            line.add("path", path, into: &output)
        }
        if !route.isEmpty { line.add("route", .text(route), into: &output) }
        line.add("status", Int64(status), into: &output)
        line.add("by", answerer, into: &output)
        switch cut {
        case .none: break
        case .byClient: line.add("cut_by", "client", into: &output)
        case .byUpstream: line.add("cut_by", "upstream", into: &output)
        }
        line.add("ms", Int64(now &- startedAt), into: &output)
        writePhases(line, now: now, into: &output)
        line.add("in", Int64(bytesTaken), into: &output)
        line.add("out", Int64(bytesRelayed), into: &output)
        let trace = traceID
        if !trace.isEmpty { line.add("trace_id", trace, into: &output) }
        line.end(into: &output)
    }

    /// As `RequestID` shows it, without a `String`.
    private func writeID(_ line: LogLine, into output: inout ByteBuffer) {
        var digits: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &digits) { digits in
            for place in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: id >> UInt64(60 - 4 * place)) & 15
                digits[place] = digit < 10 ? 0x30 + digit : 0x57 + digit
            }
            line.add("id", UnsafeRawBufferPointer(digits), into: &output)
        }
    }

    /// `upstream`, the code of an answer of ours, or nobody.
    private var answerer: StaticString {
        ownCode ?? (status == 0 ? "nobody" : "upstream")
    }

    /// Only of what went somewhere, and for people only what took its time.
    private func writePhases(_ line: LogLine, now: UInt64, into output: inout ByteBuffer) {
        guard installed != nil || sentAt > 0 || parkedMilliseconds > 0 else { return }
        func phase(_ name: StaticString, _ milliseconds: UInt64, _ output: inout ByteBuffer) {
            guard line.format == .json || milliseconds > 0 else { return }
            line.add(name, Int64(milliseconds), into: &output)
        }
        phase("parked_ms", parkedMilliseconds, &output)
        phase("connect_ms", connectMilliseconds, &output)
        guard headAt > 0 else { return }
        phase("head_ms", headAt &- sentAt, &output)
        phase("body_ms", now &- headAt, &output)
    }
}
