import HTTPWire
import Testing

@Suite struct `Request target` {
    private struct Parts: Equatable {
        var form: RequestTarget.Form
        var scheme = ""
        var authority = ""
        var path = ""
    }

    private func parts(_ method: String, _ target: String) -> Parts? {
        let message = "\(method) \(target) HTTP/1.1\r\nHost: a\r\n\r\n"
        let bytes = Array(message.utf8)
        guard case .success(let parsed)? = readHead(.request, message).head?.requestTarget else {
            return nil
        }
        func text(_ range: ByteRange) -> String {
            bytes.withUnsafeBytes { String(decoding: range.bytes(in: $0), as: UTF8.self) }
        }
        return Parts(
            form: parsed.form, scheme: text(parsed.scheme), authority: text(parsed.authority),
            path: text(parsed.path))
    }

    @Test func `in origin form is all path`() {
        #expect(parts("GET", "/a?b") == Parts(form: .origin, path: "/a?b"))
        #expect(parts("GET", "//evil.example/x") == Parts(form: .origin, path: "//evil.example/x"))
        #expect(parts("OPTIONS", "/") == Parts(form: .origin, path: "/"))
    }

    /// C114.
    @Test func `in absolute form names its authority`() {
        #expect(
            parts("GET", "http://evil.example/x")
                == Parts(form: .absolute, scheme: "http", authority: "evil.example", path: "/x"))
        #expect(
            parts("GET", "HTTPS://[::1]:8080/x?y=http://z")
                == Parts(
                    form: .absolute, scheme: "HTTPS", authority: "[::1]:8080", path: "/x?y=http://z"
                ))
        #expect(
            parts("GET", "http://a?b")
                == Parts(form: .absolute, scheme: "http", authority: "a", path: "?b"))
        #expect(
            parts("GET", "http://a")
                == Parts(form: .absolute, scheme: "http", authority: "a", path: ""))
    }

    @Test func `an authority ends where a browser would end it`() {
        #expect(parts("GET", "http://localhost\\@evil.example/")?.authority == "localhost")
    }

    @Test func `is an asterisk for OPTIONS and an authority for CONNECT`() {
        #expect(parts("OPTIONS", "*") == Parts(form: .asterisk))
        #expect(
            parts("CONNECT", "evil.example:443")
                == Parts(form: .authority, authority: "evil.example:443"))
    }

    @Test(arguments: [
        ("GET", "*"), ("GET", "a"), ("GET", "localhost:8080"), ("GET", "http:/a"),
        ("GET", "http:///a"), ("GET", "http://"), ("GET", "ftp://a/"), ("GET", "http://u@a/"),
        ("GET", "http://u:p@localhost:8080/"), ("GET", "?a"), ("GET", "://a"),
        ("CONNECT", "/"), ("CONNECT", "u@a:1"), ("CONNECT", "a:1/b"), ("CONNECT", "http://a/"),
    ])
    func `in any other form is refused`(method: String, target: String) {
        let reading = readHeadInEveryWay(
            .request, "\(method) \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(reading.head?.requestTarget == .failure(.invalidTarget))
    }
}
