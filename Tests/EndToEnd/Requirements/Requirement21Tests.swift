// Framing strictness, from both sides of the proxy (RFC 9112 sections 2.2, 3.2, 5, 6; peers.md
// requirement 21; cases C016, C053, C054, C120, C121).

import Support
import Testing

/// A message under the name of what is wrong with it.
struct Malformed: Sendable, CustomTestStringConvertible {
    let fault: String
    let octets: Octets

    init(_ fault: String, _ octets: Octets) {
        self.fault = fault
        self.octets = octets
    }

    var testDescription: String { fault }

    /// A POST whose fields are these lines.
    static func post(_ fault: String, _ lines: Octets, body: Octets = "") -> Malformed {
        Malformed(fault, "POST / HTTP/1.1\r\nHost: HOST\r\n" + lines + "\r\n\r\n" + body)
    }

    /// A GET with one more field line.
    static func get(_ fault: String, _ line: Octets) -> Malformed {
        Malformed(fault, "GET / HTTP/1.1\r\nHost: HOST\r\n" + line + "\r\n\r\n")
    }

    /// The message with the proxy's own authority in place of HOST.
    func octets(for proxy: ProxyProcess) -> Octets {
        guard let index = octets.firstIndex(of: "HOST") else { return octets }
        return Octets(octets.bytes[..<index]) + Octets("127.0.0.1:\(proxy.port)")
            + Octets(octets.bytes[(index + 4)...])
    }
}

@Suite(.ownThread) struct `Requirement 21: framing strictness` {
    private static let smuggled: Octets = "0\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n"

    static let framing: [Malformed] = [
        .post(
            "C016 length and chunked", "Content-Length: 37\r\nTransfer-Encoding: chunked",
            body: smuggled),
        .post(
            "chunked and length", "Transfer-Encoding: chunked\r\nContent-Length: 37", body: smuggled
        ),
        .post("C053 comma behind chunked", "Transfer-Encoding: chunked,", body: smuggled),
        .post(
            "C053 identity behind chunked", "Transfer-Encoding: chunked, identity", body: smuggled),
        .post("C053 xchunked", "Transfer-Encoding: xchunked", body: smuggled),
        .post("C053 space before the colon", "Transfer-Encoding : chunked", body: smuggled),
        .post(
            "C053 two lines", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
            body: smuggled),
        .post(
            "chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            body: smuggled),
        .post("C053 vertical tab", "Transfer-Encoding: \u{0B}chunked", body: smuggled),
        .post("gzip", "Transfer-Encoding: gzip", body: smuggled),
        .post("gzip, chunked", "Transfer-Encoding: gzip, chunked", body: smuggled),
        .post("identity", "Transfer-Encoding: identity", body: smuggled),
        .post("empty coding", "Transfer-Encoding:", body: smuggled),
        .post("a parameter of chunked", "Transfer-Encoding: chunked;x=1", body: smuggled),
        .post("a quoted coding", "Transfer-Encoding: \"chunked\"", body: smuggled),
        Malformed(
            "chunked in HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled),
        .post("C054 two lengths", "Content-Length: 5\r\nContent-Length: 0", body: "hello"),
        .post("C054 plus", "Content-Length: +5", body: "hello"),
        .post("C054 hexadecimal", "Content-Length: 0x5", body: "hello"),
        .post("C054 negative", "Content-Length: -1"),
        .post("C054 beyond 64 bits", "Content-Length: 99999999999999999999"),
        .post("just beyond 63 bits", "Content-Length: 9223372036854775808"),
        .post("just beyond 64 bits", "Content-Length: 18446744073709551616"),
        .post("a list of lengths", "Content-Length: 5, 6", body: "hello"),
        .post("empty length", "Content-Length:", body: "hello"),
        .post("space in a length", "Content-Length: 5 5", body: "hello"),
        .post("exponent", "Content-Length: 1e1", body: "hello"),
        .post("comma behind a length", "Content-Length: 5,", body: "hello"),
    ]

    static let syntax: [Malformed] = [
        .get("folded line", "X-A: 1\r\n 2"),
        .get("folded line with a tab", "X-A: 1\r\n\t2"),
        Malformed("folded first line", "GET / HTTP/1.1\r\n Host: HOST\r\nHost: HOST\r\n\r\n"),
        Malformed("bare line feeds", "GET / HTTP/1.1\nHost: HOST\n\n"),
        .get("one bare line feed", "X-A: 1\nX-B: 2"),
        .get("bare carriage return in a value", "X-A: 1\rX-B: 2"),
        .get("NUL in a value", "X-A: 1\u{00}2"),
        .get("control byte in a value", "X-A: 1\u{01}2"),
        .get("DEL in a value", "X-A: 1\u{7F}2"),
        .get("space before the colon", "X-A : 1"),
        .get("tab before the colon", "X-A\t: 1"),
        .get("no name", ": 1"),
        .get("no colon", "X-A"),
        .get("space in a name", "X A: 1"),
        .get("NUL in a name", "X\u{00}A: 1"),
        .get("a name beyond ASCII", "X\u{E9}: 1"),
        .get("a separator in a name", "X(A): 1"),
        Malformed("no Host", "GET / HTTP/1.1\r\nX-A: 1\r\n\r\n"),
        .get("two Hosts", "Host: HOST"),
        Malformed("HTTP/2.0", "GET / HTTP/2.0\r\nHost: HOST\r\n\r\n"),
        Malformed("HTTP/0.9", "GET / HTTP/0.9\r\nHost: HOST\r\n\r\n"),
        Malformed("no version", "GET /\r\nHost: HOST\r\n\r\n"),
        Malformed("lower-case version", "GET / http/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("version with more digits", "GET / HTTP/1.10\r\nHost: HOST\r\n\r\n"),
        Malformed("two spaces", "GET  / HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("tab as separator", "GET\t/ HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("space at the end", "GET / HTTP/1.1 \r\nHost: HOST\r\n\r\n"),
        Malformed("space at the start", " GET / HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("a method that is no token", "GE(T / HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("C036 raw bytes in the target", "GET /caf\u{E9} HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("C036 space in the target", "GET /a b HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("C036 control byte in the target", "GET /a\u{07} HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("DEL in the target", "GET /a\u{7F} HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("fragment in the target", "GET /a#b HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed("a target without a slash", "GET a HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        Malformed(
            "TLS on a plain port", "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}\u{00}\u{01}\u{FC}\r\n\r\n"),
    ]

    private let upstream: FakeUpstream
    private let setup: DirectSetup

    init() throws {
        upstream = try FakeUpstream { _ in .ok() }
        setup = try DirectSetup(to: upstream)
    }

    @Test(arguments: ["framing", "syntax"])
    func `a malformed request gets 400 or 505, a close and nothing else`(kind: String) throws {
        for message in kind == "framing" ? Self.framing : Self.syntax {
            let answer = try setup.proxy.answer(toRaw: message.octets(for: setup.proxy))
            let response = try HTTPMessage(reading: answer)
            let isVersion =
                message.octets.contains(" HTTP/2.0") || message.octets.contains("HTTP/0.9")
            let (status, code) = isVersion ? (505, "version_not_supported") : (400, "bad_request")
            #expect(response.isOurs(status, code), "\(message.fault): \(answer)")
            #expect(response.value("Connection") == "close", "\(message.fault)")
            #expect(!response.body.contains("\r\n"), "answered twice: \(answer)")
        }
        #expect(upstream.requests.isEmpty)
        #expect(!upstream.received.contains { !$0.isEmpty }, "\(upstream.received)")
    }

    @Test(arguments: [
        "Transfer-Encoding: chunked\t", "Transfer-Encoding: Chunked", "transfer-encoding:chunked  ",
    ])
    func `white space and case around chunked are legal and not passed on (C053)`(
        line: String
    ) throws {
        let client = try setup.proxy.connect()
        try client.send(
            Octets("POST / HTTP/1.1\r\nHost: 127.0.0.1:\(setup.proxy.port)\r\n\(line)\r\n\r\n")
                + "3\r\nabc\r\n0\r\n\r\n")
        #expect(try client.stream.readResponse().status == 200)
        let request = try #require(upstream.requests.first)
        #expect(request.body == "abc")
        #expect(request.values("Transfer-Encoding") == ["chunked"])
        #expect(!request.has("Content-Length"))
    }

    @Test(arguments: ["5, 5", "5\r\nContent-Length: 5"])
    func `repeated equal lengths are refused or become one (C054)`(value: String) throws {
        let client = try setup.proxy.connect()
        try client.send(
            Octets("POST / HTTP/1.1\r\nHost: 127.0.0.1:\(setup.proxy.port)\r\n")
                + Octets("Content-Length: \(value)\r\n\r\nhello"))
        let status = try client.stream.readResponse().status
        #expect([200, 400].contains(status))
        if status == 200 {
            #expect(try upstream.requests.item(0).values("Content-Length") == ["5"])
        }
    }

    @Test(arguments: [
        ("size that is no number", "3x\r\nabc\r\n0\r\n\r\n"), ("negative size", "-3\r\nabc\r\n"),
        ("0x size", "0x3\r\nabc\r\n0\r\n\r\n"), ("empty size", "\r\nabc\r\n0\r\n\r\n"),
        ("huge size", "FFFFFFFFFFFFFFFFF\r\nabc"), ("63 bits and one", "8000000000000000\r\nabc"),
        ("data longer than its size", "3\r\nabcdef\r\n0\r\n\r\n"),
        ("bare line feed behind the size", "3\nabc\r\n0\r\n\r\n"),
        ("bare line feed behind the data", "3\r\nabc\n0\r\n\r\n"),
        ("space before the size", " 3\r\nabc\r\n0\r\n\r\n"),
        ("bare carriage return in an extension", "3;a\rb\r\nabc\r\n0\r\n\r\n"),
        ("folded trailer", "0\r\nX-A: 1\r\n 2\r\n\r\n"),
        ("space in a trailer's name", "0\r\nX A: 1\r\n\r\n"),
    ])
    func `a malformed chunk never completes a request upstream`(
        fault: String, body: String
    ) throws {
        let client = try setup.proxy.connect()
        try client.send(
            Octets("POST / HTTP/1.1\r\nHost: 127.0.0.1:\(setup.proxy.port)\r\n")
                + Octets("Transfer-Encoding: chunked\r\n\r\n\(body)"))
        // Whatever is answered, the connection ends: nobody can tell where the next request begins.
        let answer = try client.stream.readToEnd()
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(fault): \(answer)")
        #expect(upstream.requests.isEmpty, "\(fault)")
    }

    @Test func `what follows a malformed request is not read`() throws {
        let proxy = setup.proxy
        let authority = "Host: 127.0.0.1:\(proxy.port)\r\n"
        let answer = try proxy.answer(
            toRaw: Octets("GET /good HTTP/1.1\r\n\(authority)\r\n")
                + Octets("GET /bad HTTP/1.1\r\n\(authority)X : 1\r\n\r\n")
                + Octets("GET /never HTTP/1.1\r\n\(authority)\r\n"))
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        #expect(answer.text.components(separatedBy: "HTTP/1.1 400 ").count == 2)
        #expect(upstream.requests.map(\.target) == ["/good"])
    }

    @Test func `a head beyond its limits gets 431 (C069)`() throws {
        let proxy = setup.proxy
        let long =
            Octets("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\nX-Long: ")
            + Octets(repeating: 0x61, count: 70_000) + "\r\n\r\n"
        var many = Octets("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\n")
        for number in 0..<200 { many += Octets("X-\(number): 1\r\n") }
        let target = Octets("GET /") + Octets(repeating: 0x61, count: 70_000)
        for (name, head) in [("long", long), ("many", many + "\r\n"), ("target", target)] {
            let response = try HTTPMessage(reading: proxy.answer(toRaw: head))
            #expect(response.isOurs(431, "head_too_large"), "\(name): \(response)")
        }
        #expect(upstream.requests.isEmpty)
    }
}

extension HTTPMessage {
    /// One response whose body is the rest of the bytes.
    init(reading octets: Octets) throws {
        guard let end = octets.firstIndex(of: "\r\n\r\n") else {
            throw Failure.malformed("no head in \(octets)")
        }
        try self.init(head: Octets(octets.bytes[..<(end + 4)]))
        body = Octets(octets.bytes[(end + 4)...])
    }
}
