// Which trace a request belongs to (W3C Trace Context, section 3.2).

import HTTPWire
import Support
import Testing

@Suite struct `A trace's id` {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let value = "00-\(trace)-00f067aa0ba902b7-01"

    private func id(of value: String) -> String? {
        Array(value.utf8).withUnsafeBytes { bytes in
            TraceParent.traceID(in: bytes).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func id(inHead head: String) -> String? {
        Array(head.utf8).withUnsafeBytes { bytes in
            TraceParent.traceID(inHead: bytes).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test(arguments: [value, "01-\(trace)-00f067aa0ba902b7-01-what-comes-later"])
    func `is told`(value: String) {
        #expect(id(of: value) == Self.trace)
    }

    @Test(arguments: [
        "", "00", value + "-more", value + "0", value.uppercased(),
        "ff" + value.utf8.dropFirst(2).text,
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-\(trace)-0000000000000000-01", "00-\(trace)-00f067aa0ba902b7-0g",
        "0x-\(trace)-00f067aa0ba902b7-01", "00_\(trace)-00f067aa0ba902b7-01",
        "01-\(trace)-00f067aa0ba902b7-01.later",
        "00-\"\(trace.utf8.dropFirst(2).text)\"-00f067aa0ba902b7-01",
    ])
    func `is not repeated when the field is not well formed`(value: String) {
        #expect(id(of: value) == nil)
    }

    @Test func `is none in any beginning of the field`() {
        for count in 0..<Self.value.utf8.count {
            #expect(id(of: Self.value.utf8.prefix(count).text) == nil)
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\nTraceParent:  \(value) \r\nAccept: */*\r\n\r\n",
        "GET / HTTP/1.1\r\ntraceparent:\(value)\r\n",
        "\r\nGET / HTTP/1.1\ntraceparent: \(value)\n\n",
    ])
    func `is found in a head`(head: String) {
        #expect(id(inHead: head) == Self.trace)
    }

    @Test(arguments: [
        "GET /traceparent:\(value) HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Traceparent: \(value)\r\n\r\n",
        "GET / HTTP/1.1\r\ntraceparent: \(value)\r\ntraceparent: \(value)\r\n\r\n",
        "GET / HTTP/1.1\r\ntraceparent: \(value)", "", "traceparent:\r\n",
    ])
    func `is none where no field, or more than one, says it`(head: String) {
        #expect(id(inHead: head) == nil)
    }
}

extension Sequence<UInt8> {
    fileprivate var text: String { String(decoding: Array(self), as: UTF8.self) }
}
