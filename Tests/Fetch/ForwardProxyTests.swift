// Which proxy stands between us and an origin, and what may not be one.

import Bytes
import Fetch
import Testing
import Vocabulary

@Suite(.serialized) struct `Forward proxy` {
    private func address(_ environment: [String: String], _ origin: Origin) throws -> String? {
        try ForwardProxy(environment: environment).hop(for: origin)?.address
    }

    private let api = Origin(scheme: .https, host: "api.example.com", port: 443)
    private let plain = Origin(scheme: .http, host: "api.example.com", port: 80)

    @Test func `variables are read as curl reads them`() throws {
        #expect(try address([:], api) == nil)
        #expect(try address(["https_proxy": "http://a:1"], api) == "http://a:1")
        #expect(try address(["HTTPS_PROXY": "http://a:1"], api) == "http://a:1")
        #expect(
            try address(["https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:1"], api)
                == "http://a:1")
        #expect(try address(["https_proxy": "http://a:1"], plain) == nil)
        #expect(try address(["http_proxy": "http://a:1"], plain) == "http://a:1")
        #expect(try address(["http_proxy": "http://a:1"], api) == nil)
        #expect(try address(["ALL_PROXY": "socks5h://a:1"], api) == "socks5h://a:1")
        #expect(
            try address(["all_proxy": "socks4://a:1", "https_proxy": "http://b:1"], api)
                == "http://b:1")
        #expect(try address(["https_proxy": "", "HTTPS_PROXY": "http://b:1"], api) == "http://b:1")
        #expect(try address(["https_proxy": ""], api) == nil)
    }

    @Test func `a CGI cannot set it with a request field`() throws {
        #expect(try address(["HTTP_PROXY": "http://evil:1"], plain) == nil)
    }

    @Test(arguments: [
        ("proxy.corp:3128", "http://proxy.corp:3128"), ("ftp.corp:3128", "http://ftp.corp:3128"),
        ("HTTP://Proxy.Corp", "http://proxy.corp:1080"), ("http://a:80/", "http://a:80"),
        ("socks://a:1", "socks5://a:1"), ("socks4a://a", "socks4a://a:1080"),
        ("http://[::1]:3128", "http://[::1]:3128"), ("http://u:p@a:1", "http://a:1"),
    ])
    func `spellings`(text: String, expected: String) throws {
        #expect(try address(["https_proxy": text], api) == expected)
    }

    @Test func `user and password are decoded and not shown`() throws {
        let proxy = try ForwardProxy(environment: ["https_proxy": "http://us%40er:p%3Aw@a:1"])
        let hop = try #require(proxy.hop(for: api))
        #expect(hop.user == "us@er")
        #expect(hop.password == SecretBytes("p:w"))
        #expect(!"\(hop)".contains("p:w") && !"\(hop)".contains("%3A"))
        #expect(!hop.address.contains("er"))
    }

    @Test(arguments: [
        "localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "::1",
    ])
    func `this machine is never reached through one`(host: String) throws {
        for scheme in [Origin.Scheme.http, .https] {
            let origin = Origin(scheme: scheme, host: host.lowercased(), port: 8080)
            let environment = ["all_proxy": "http://a:1", "no_proxy": ""]
            #expect(try address(environment, origin) == nil)
            #expect(
                try ForwardProxy(url: "http://a:1", setting: "proxy").hop(for: origin) == nil)
        }
    }

    @Test(arguments: [
        ("*", "api.example.com", true), ("example.com", "api.example.com", true),
        (".example.com", "api.example.com", true), ("*.example.com", "api.example.com", true),
        (".example.com", "example.com", true), ("example.com.", "api.example.com", true),
        ("example.com", "example.com.", true), ("Example.COM", "api.example.com", true),
        ("ple.com", "example.com", false), ("api.example.com", "example.com", false),
        ("other.test, example.com", "api.example.com", true),
        ("other.test example.com", "api.example.com", true), ("", "api.example.com", false),
        (",", "api.example.com", false), (".", "api.example.com", false),
        ("example.com:443", "api.example.com", true), ("example.com:8443", "a.example.com", false),
        ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.10", false),
        ("10.0.0.0/8", "10.200.3.4", true), ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/9", "10.127.0.1", true), ("10.0.0.0/9", "10.128.0.1", false),
        ("0.0.0.0/0", "10.128.0.1", true), ("10.0.0.0/33", "10.0.0.0", false),
        ("10.0.0.0/x", "10.0.0.0", false), ("0.1", "10.0.0.1", false),
        ("fd00::/8", "fd12::1", true), ("[fd00::1]", "fd00::1", true),
        ("[fd00::1]:443", "fd00::1", true), ("[fd00::1]:1", "fd00::1", false),
        ("fd00:0:0::1", "fd00::1", true), ("10.0.0.0/8", "fd00::1", false),
    ])
    func `exceptions`(list: String, host: String, isExcepted: Bool) throws {
        let origin = Origin(scheme: .https, host: host, port: 443)
        for name in ["no_proxy", "NO_PROXY"] {
            let environment = ["https_proxy": "http://a:1", name: list]
            #expect((try address(environment, origin) == nil) == isExcepted)
        }
        let proxy = try ForwardProxy(url: "http://a:1", exceptions: [list], setting: "proxy")
        #expect((proxy.hop(for: origin) == nil) == isExcepted)
    }

    @Test func `one that speaks TLS itself is refused with a way out`() {
        let error = ForwardProxyError.encrypted(setting: "HTTPS_PROXY")
        #expect(throws: error) {
            _ = try ForwardProxy(environment: ["HTTPS_PROXY": "https://u:secret@proxy:443"])
        }
        #expect(error.reason == "HTTPS_PROXY names a proxy that is spoken to with TLS")
        #expect(error.hint.contains("http://"))
    }

    @Test func `other kinds and no kinds are refused`() {
        #expect(throws: ForwardProxyError.unknownScheme(setting: "all_proxy", scheme: "ftp")) {
            _ = try ForwardProxy(environment: ["all_proxy": "ftp://a:1"])
        }
        for text in ["http://", "http://a:0", "http://a:99999", "http://a b", "::::"] {
            #expect(throws: ForwardProxyError.malformed(setting: "proxy.url")) {
                _ = try ForwardProxy(url: text, setting: "proxy.url")
            }
        }
    }

    @Test func `one that leads back to us is refused`() throws {
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            #expect(throws: ForwardProxyError.loop(setting: "http_proxy", port: 8080)) {
                _ = try ForwardProxy(
                    environment: ["http_proxy": "http://\(host):8080"], listening: [8080, 8081])
            }
        }
        _ = try ForwardProxy(
            environment: ["http_proxy": "http://localhost:3128"], listening: [8080])
        _ = try ForwardProxy(environment: ["http_proxy": "http://corp:8080"], listening: [8080])
    }
}
