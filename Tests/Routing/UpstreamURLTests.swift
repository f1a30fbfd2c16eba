import Routing
import Testing
import Vocabulary

@Suite struct `Upstream URL` {
    @Test(arguments: [
        ("https://api.example.com", "https", "api.example.com", 443, ""),
        ("HTTPS://API.Example.com/", "https", "api.example.com", 443, ""),
        ("http://localhost:3000/base/", "http", "localhost", 3000, "/base"),
        ("https://www.googleapis.com/drive/v3", "https", "www.googleapis.com", 443, "/drive/v3"),
        ("http://[::1]:8081", "http", "::1", 8081, ""),
        ("http://[0:0:0:0:0:0:0:1]", "http", "::1", 80, ""),
        ("http://10.0.0.1:80/a%2Fb//c", "http", "10.0.0.1", 80, "/a%2Fb//c"),
        ("https://service_name:8443", "https", "service_name", 8443, ""),
    ])
    func `is read into origin and base path`(
        _ text: String, _ scheme: String, _ host: String, _ port: UInt16, _ basePath: String
    ) throws {
        let url = try UpstreamURL(text)
        #expect(url.origin.scheme.rawValue == scheme)
        #expect(url.origin.host == host)
        #expect(url.origin.port == port)
        #expect(url.basePath == basePath)
    }

    @Test(arguments: [
        ("api.example.com", UpstreamURL.URLError.schemeMissing),
        ("ftp://api.example.com", .schemeUnsupported("ftp")),
        ("https://user:pass@api.example.com", .hasUser),
        ("https://api.example.com?x=1", .hasQuery),
        ("https://api.example.com/a?x=1", .hasQuery),
        ("https://api.example.com/a#b", .hasFragment),
        ("https://", .hostInvalid("")),
        ("https:///path", .hostInvalid("")),
        ("https://caf\u{e9}.example", .hostInvalid("caf\u{e9}.example")),
        ("https://api.example.com.", .hostInvalid("api.example.com.")),
        ("https://-a.example", .hostInvalid("-a.example")),
        ("http://127.1", .hostInvalid("127.1")),
        ("http://0x7f.1", .hostInvalid("0x7f.1")),
        ("http://127.0.0.01", .hostInvalid("127.0.0.01")),
        ("http://2130706433", .hostInvalid("2130706433")),
        ("http://256.0.0.1", .hostInvalid("256.0.0.1")),
        ("http://[::1", .hostInvalid("[::1")),
        ("http://[::1]x", .hostInvalid("[::1]x")),
        ("http://a:0", .portInvalid("0")),
        ("http://a:65536", .portInvalid("65536")),
        ("http://a:", .portInvalid("")),
        ("http://a:+80", .portInvalid("+80")),
        ("http://a/b/../c", .pathInvalid("/b/../c")),
        ("http://a/b c", .pathInvalid("/b c")),
    ])
    func `is refused with the reason`(
        _ text: String, _ error: UpstreamURL.URLError
    ) throws {
        #expect(throws: error) { try UpstreamURL(text) }
    }

    @Test func `is written as it is compared`() throws {
        #expect(try UpstreamURL("HTTPS://A.example:443/v1/").description == "https://a.example/v1")
    }
}
