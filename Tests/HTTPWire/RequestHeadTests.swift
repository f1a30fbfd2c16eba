import Bytes
import HTTPWire
import Testing

@Suite struct `Request head` {
    @Test func `is read with its fields in order of arrival`() throws {
        let message =
            "POST /a?b=c HTTP/1.1\r\nHost: localhost:8080\r\nX-One:1\r\nx-one: \t2 \t\r\n"
            + "Content-Length: 5\r\nEmpty:\r\n\r\nhello"
        let head = try #require(readHeadInEveryWay(.request, message).head)
        #expect(head.method == .post)
        #expect(head.methodText == "POST")
        #expect(head.target == "/a?b=c")
        #expect(head.minorVersion == 1)
        #expect(
            head.fields.map(\.name) == ["Host", "X-One", "x-one", "Content-Length", "Empty"])
        #expect(head.values("X-One") == ["1", "2"])
        #expect(head.values("Empty") == [""])
        #expect(head.fields.map(\.isTight) == [true, false, false, true, false])
        #expect(head.fields.map(\.known) == [.host, .other, .other, .contentLength, .other])
        #expect(head.length == message.utf8.count - 5)
        #expect(head.framing == .success(.length(5)))
        #expect(head.persists)
    }
}
