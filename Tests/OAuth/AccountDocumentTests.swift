import Bytes
import OAuth
import Testing
import Vocabulary

@Suite struct `Account documents` {
    private static let plc = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"

    @Test(arguments: [
        (
            "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
            "https://plc.directory/did:plc:ewvi7nxzyoun6zhxrhs64oiz"
        ),
        ("did:web:alice.example.com", "https://alice.example.com/.well-known/did.json"),
    ])
    func `are where the identifier says`(text: String, url: String) throws {
        #expect(try #require(AccountIdentifier(text)).documentURL == url)
    }

    @Test(arguments: [
        "", "did", "did:plc", "did:plc:", "did:plc:short", "did:plc:ewvi7nxzyoun6zhxrhs64oi1",
        "did:plc:EWVI7NXZYOUN6ZHXRHS64OIZ", "did:plc:ewvi7nxzyoun6zhxrhs64oiz#a",
        "did:plc:../../x/ewvi7nxzyoun6zh", "did:web:localhost", "did:web:example.com:8080",
        "did:web:example.com%3A8080", "did:web:example.com/a", "did:web:user@example.com",
        "did:web:a..example", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        "DID:plc:ewvi7nxzyoun6zhxrhs64oiz", "alice.bsky.social",
    ])
    func `exist for two methods only`(text: String) {
        #expect(AccountIdentifier(text) == nil)
    }

    private func response(_ body: String, status: Int = 200) -> InboundResponse {
        InboundResponse(status: status, body: SecretBytes(body))
    }

    private func server(_ services: String, id: String = plc) throws -> String {
        let account = try #require(AccountIdentifier(Self.plc))
        return try AccountDocument.server(
            in: response(#"{"id":"\#(id)","service":[\#(services)]}"#), of: account)
    }

    private func service(
        _ url: String, id: String = "#atproto_pds", type: String = "AtprotoPersonalDataServer"
    ) -> String {
        #"{"id":"\#(id)","type":"\#(type)","serviceEndpoint":"\#(url)"}"#
    }

    @Test func `name the server that keeps the account`() throws {
        #expect(try server(service("https://pds.example")) == "https://pds.example")
        #expect(try server(service("https://pds.example/")) == "https://pds.example")
        #expect(
            try server(service("https://pds.example", id: Self.plc + "#atproto_pds"))
                == "https://pds.example")
        let others = service("https://evil.example", id: "#other") + ","
        #expect(try server(others + service("https://pds.example")) == "https://pds.example")
    }

    @Test func `of somebody else or without a server are refused`() throws {
        #expect(throws: AccountDocumentError.otherSubject) {
            try server(service("https://pds.example"), id: "did:web:evil.example")
        }
        for url in [
            "http://pds.example", "https://pds.example/path", "https://pds.example?q", "pds",
        ] {
            #expect(throws: AccountDocumentError.noServer) { try server(service(url)) }
        }
        #expect(throws: AccountDocumentError.noServer) {
            try server(service("https://pds.example", type: "Other"))
        }
        #expect(throws: AccountDocumentError.noServer) { try server("") }
    }

    @Test func `of a server name the one issuer that it trusts`() throws {
        func issuer(_ body: String, status: Int = 200) throws -> String {
            try AccountDocument.issuer(
                in: response(body, status: status), of: "https://pds.example")
        }
        let good =
            #"{"resource":"https://pds.example","authorization_servers":["https://as.example"]}"#
        #expect(try issuer(good) == "https://as.example")
        #expect(throws: AccountDocumentError.otherSubject) {
            try issuer(#"{"resource":"https://a","authorization_servers":["https://as.example"]}"#)
        }
        for servers in ["[]", #"["https://a","https://b"]"#, "[1]", "{}"] {
            #expect(throws: AccountDocumentError.noServer) {
                try issuer(
                    #"{"resource":"https://pds.example","authorization_servers":\#(servers)}"#)
            }
        }
        #expect(throws: AccountDocumentError.unreadable) { try issuer("<html>") }
        #expect(throws: AccountDocumentError.notHere(status: 404)) { try issuer(good, status: 404) }
        #expect(throws: AccountDocumentError.unavailable(status: 503)) {
            try issuer(good, status: 503)
        }
    }
}
