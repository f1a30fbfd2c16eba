import Testing
import Vocabulary

private func parse(_ text: String) -> Result<WebURL, WebURLError> {
    Result { () throws(WebURLError) in try WebURL(text) }
}

@Suite struct `Web URL` {
    @Test func `is taken apart and never changed`() throws {
        let url = try WebURL("https://ID.Example.com:8443/a%2Fb//c/?p=x&q=%20#top")
        #expect(url.text == "https://ID.Example.com:8443/a%2Fb//c/?p=x&q=%20#top")
        #expect(url.origin == Origin(scheme: .https, host: "id.example.com", port: 8443))
        #expect(url.path == "/a%2Fb//c/")
        #expect(url.query == "p=x&q=%20")
        #expect(url.fragment == "top")
        #expect(url.textBeforePath == "https://ID.Example.com:8443")
    }

    @Test(
        arguments: [
            ("http://a", "a", 80, ""), ("HTTPS://a/", "a", 443, "/"),
            ("http://[::1]:80/x", "::1", 80, "/x"),
            ("http://a:/", "a", 80, "/"), ("http://a?b", "a", 80, ""), ("http://a#b", "a", 80, ""),
            ("http://a_b.c-d.", "a_b.c-d.", 80, ""), ("http://a?b/c#d?e", "a", 80, ""),
        ] as [(String, String, UInt16, String)])
    func `has an origin and a path`(
        text: String, host: String, port: UInt16, path: String
    ) throws {
        let url = try WebURL(text)
        #expect(url.origin.host == host)
        #expect(url.origin.port == port)
        #expect(url.path == path)
    }

    @Test(
        arguments: [
            ("", .notHTTP), ("a", .notHTTP), ("ftp://a", .notHTTP), ("http:/a", .notHTTP),
            ("http:a", .notHTTP), ("//a", .notHTTP), ("javascript:alert(1)//http://a", .notHTTP),
            ("http://", .invalidHost), ("http:///a", .invalidHost), ("http://?a", .invalidHost),
            ("http://:80", .invalidHost), ("http://[]", .invalidHost),
            ("http://[::1", .invalidHost),
            ("http://[::1]x", .invalidHost), ("http://a,b", .invalidHost),
            ("http://a%2eb", .invalidHost), ("http://u:p@a", .userInfo), ("http://a@b", .userInfo),
            ("http://a:0", .invalidPort), ("http://a:65536", .invalidPort),
            ("http://a:+1", .invalidPort), ("http://a:1:2", .invalidHost),
            ("http://a b", .invalidByte(at: 8)),
            ("http://a\\b", .invalidByte(at: 8)), ("http://a/\n", .invalidByte(at: 9)),
            ("http://a/\u{0}", .invalidByte(at: 9)), ("http://é", .invalidByte(at: 7)),
            ("http://a/\u{7F}", .invalidByte(at: 9)), ("http://a/<", .invalidByte(at: 9)),
        ] as [(String, WebURLError)])
    func `refuses`(text: String, error: WebURLError) {
        #expect(parse(text) == .failure(error))
    }

    @Test(arguments: [
        ("https://example.com", true), ("http://example.com", false), ("http://127.0.0.1:1", true),
        ("http://127.255.1.2", true), ("http://localhost:1", true), ("http://[::1]", true),
        ("http://a.localhost", true), ("http://localhost.example", false),
        ("http://127.0.0.1.example", false), ("http://128.0.0.1", false), ("http://0.0.0.0", false),
        ("http://127.1", false), ("http://2130706433", false),
    ])
    func `is secure over TLS or on this machine only`(text: String, isSecure: Bool) throws {
        #expect(try WebURL(text).isSecure == isSecure)
    }
}
