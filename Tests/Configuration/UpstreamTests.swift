import Routing
import Testing

@testable import Configuration

@Suite struct `Ways to an upstream` {
    private func text(_ route: String, upstream: String = "https://x") -> String {
        """
        credentials: { a: { token: { env: T } } }
        routes: [{ upstream: "\(upstream)", credential: a, \(route) }]
        """
    }

    @Test func `are read`() throws {
        let pin = "sha256/" + String(repeating: "A", count: 43) + "="
        let spec = try settings(
            text(
                "resolve: 10.0.0.7, allow_private_addresses: true, tls: { certificate: c.pem, key: "
                    + "/k.pem, pins: [\"\(pin)\"], min_version: \"1.3\" }")
        ).routeSpecs[0]
        #expect(spec.address == "10.0.0.7")
        #expect(spec.allowsPrivateAddresses)
        #expect(spec.tls?.certificateFile == "/etc/proxy/c.pem")
        #expect(spec.tls?.keyFile == "/k.pem")
        #expect(spec.tls?.pins == [[UInt8](repeating: 0, count: 32)])
        #expect(spec.tls?.requiresTLS13 == true)
        for address in ["fd00::7", "[fd00::7]"] {
            #expect(
                try settings(text("resolve: \"\(address)\"")).routeSpecs[0].address == "fd00::7")
        }
        let plain = try settings(text("path: /")).routeSpecs[0]
        #expect(plain.tls == nil && plain.address == nil && !plain.allowsPrivateAddresses)
    }

    @Test(arguments: [
        ("resolve: api.internal", "is no address"), ("resolve: 10.0.0.7:80", "is no address"),
        ("tls: { certificate: c.pem }", "needs the key \"key\""),
        ("tls: { key: c.pem }", "needs the key \"certificate\""),
        ("tls: { pins: [abc] }", "is no pin"), ("tls: { pins: [sha256/AAAA] }", "is no pin"),
        ("tls: { min_version: \"1.1\" }", "is no value for \"min_version\""),
        ("tls: { verify: false }", "unknown key \"verify\""),
    ])
    func `are refused with the reason`(route: String, expected: String) {
        let found = problems(text(route))
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    @Test func `are known to the short form, but for TLS`() throws {
        let read = try settings(short("resolve: 10.0.0.7\nallow_private_addresses: true"))
        #expect(read.routeSpecs[0].address == "10.0.0.7")
        #expect(read.routeSpecs[0].allowsPrivateAddresses)
        #expect(problems(short("tls: { min_version: \"1.3\" }")).count == 1)
    }

    @Test func `over plain http have no TLS`() {
        let found = problems(text("tls: { min_version: \"1.3\" }", upstream: "http://localhost:1"))
        #expect(found.count == 1 && found[0].contains("means nothing for an http:// upstream"))
    }
}
