import HTTPWire
import Testing

@Suite struct `Limits of a head` {
    private func message(padding: Int) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: padding) + "\r\n\r\n"
    }

    @Test func `a head of exactly the limit passes and one byte more does not`() {
        let limits = HeadLimits(headBytesMax: 100)
        let fixed = message(padding: 0).utf8.count
        let fitting = readHeadInEveryWay(
            .request, message(padding: 100 - fixed) + "body", limits: limits)
        #expect(fitting.head?.length == 100)
        let larger = readHeadInEveryWay(.request, message(padding: 101 - fixed), limits: limits)
        #expect(larger == .failed(.headTooLarge(limit: 100)))
    }

    @Test func `a first line without end is refused at the limit`() {
        let limits = HeadLimits(headBytesMax: 64)
        let endless = "GET /" + String(repeating: "a", count: 100)
        #expect(
            readHeadInEveryWay(.request, endless, limits: limits)
                == .failed(.headTooLarge(limit: 64)))
        let response = "HTTP/1.1 200 " + String(repeating: "a", count: 100)
        #expect(
            readHeadInEveryWay(.response(to: .get), response, limits: limits)
                == .failed(.headTooLarge(limit: 64)))
    }

    @Test func `an error before the limit is told rather than the limit`() {
        let limits = HeadLimits(headBytesMax: 64)
        let message = "GET / HTTP/1.1\r\nX : y\r\n" + String(repeating: "a", count: 100)
        #expect(
            readHeadInEveryWay(.request, message, limits: limits) == .failed(.invalidFieldName))
    }

    @Test func `as many fields as the limit pass and one more does not`() {
        func message(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: count - 1)
                + "\r\n"
        }
        let limits = HeadLimits(fieldsMax: 5)
        #expect(readHeadInEveryWay(.request, message(5), limits: limits).head?.fields.count == 5)
        #expect(
            readHeadInEveryWay(.request, message(6), limits: limits)
                == .failed(.tooManyFields(limit: 5)))
        #expect(readHead(.request, message(128)).head?.fields.count == 128)
        #expect(readHead(.request, message(129)) == .failed(.tooManyFields(limit: 128)))
    }

    /// C069: what real tokens, cookies and answers need passes under the defaults.
    @Test func `long tokens and many cookies pass by default`() {
        let request =
            "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
            + String(repeating: "t", count: 14_000) + "\r\nCookie: "
            + String(repeating: "c", count: 7000) + "\r\n\r\n"
        #expect(readHead(.request, request).head?.fields.count == 3)
    }

    @Test func `a connection field names no more fields than the limit`() {
        func message(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close"
                + String(repeating: ", ,x", count: count - 1) + "\r\n\r\n"
        }
        #expect(readHead(.request, message(64)).head?.persists == false)
        #expect(
            readHead(.request, message(65)) == .failed(.tooManyConnectionOptions(limit: 64)))
    }

    @Test func `limits are told from broken rules`() {
        #expect(WireError.headTooLarge(limit: 1).isTooLarge)
        #expect(WireError.tooManyFields(limit: 1).isTooLarge)
        #expect(WireError.trailersTooLarge(limit: 1).isTooLarge)
        #expect(!WireError.controlByte.isTooLarge)
        #expect(!WireError.duplicateContentLength.isTooLarge)
    }
}
