import Bytes
import Testing
import Vocabulary

@testable import OAuth

private let upstream = "https://mcp.example.com/mcp"

private func places(_ resource: String) -> Result<[ResourceMetadata.Place], ResourceMetadataError> {
    Result { () throws(ResourceMetadataError) in try ResourceMetadata.places(for: resource) }
}

private func challenged(
    _ url: String, for resource: String = upstream
) -> Result<[String], ResourceMetadataError> {
    Result { () throws(ResourceMetadataError) in
        try ResourceMetadata.place(challenged: url, for: resource).resources
    }
}

private func read(
    _ body: String, status: Int = 200, at place: ResourceMetadata.Place? = nil
) -> Result<ResourceMetadata, ResourceMetadataError> {
    Result { () throws(ResourceMetadataError) in
        try ResourceMetadata.read(
            InboundResponse(status: status, body: SecretBytes(body)),
            at: place ?? .init(url: upstream, resources: [upstream]))
    }
}

@Suite struct `Protected resource metadata` {
    @Test(arguments: [
        (
            "https://mcp.example.com/mcp",
            [
                "https://mcp.example.com/.well-known/oauth-protected-resource/mcp",
                "https://mcp.example.com/.well-known/oauth-protected-resource",
            ]
        ),
        (
            "https://mcp.example.com:8443/a/b?c=d",
            [
                "https://mcp.example.com:8443/.well-known/oauth-protected-resource/a/b?c=d",
                "https://mcp.example.com:8443/.well-known/oauth-protected-resource",
            ]
        ),
        (
            "https://mcp.example.com",
            ["https://mcp.example.com/.well-known/oauth-protected-resource"]
        ),
        (
            "https://mcp.example.com/",
            ["https://mcp.example.com/.well-known/oauth-protected-resource"]
        ),
    ])
    func `is looked for before the path, then at the root (F06)`(resource: String, urls: [String]) {
        #expect(places(resource).map { $0.map(\.url) } == .success(urls))
    }

    @Test func `at the root is about the origin, in both spellings`() throws {
        let places = try places(upstream).get()
        #expect(places[0].resources == [upstream])
        #expect(places[1].resources == ["https://mcp.example.com", "https://mcp.example.com/"])
    }

    @Test(
        arguments: [
            ("http://mcp.example.com/mcp", .insecureResource("http://mcp.example.com/mcp")),
            ("https://mcp.example.com/#a", .invalidResource("https://mcp.example.com/#a")),
            ("mcp", .invalidResource("mcp")),
        ] as [(String, ResourceMetadataError)])
    func `is not looked for at a wrong URL`(resource: String, error: ResourceMetadataError) {
        #expect(places(resource) == .failure(error))
    }

    @Test func `that a challenge names is about the URL that was asked for`() {
        #expect(challenged("https://mcp.example.com/meta") == .success([upstream]))
        #expect(challenged("https://other.example/meta") == .success([upstream]))
    }

    @Test(arguments: [
        ("https://mcp.example.com/.well-known/oauth-protected-resource/mcp", [upstream]),
        (
            "https://mcp.example.com/.well-known/oauth-protected-resource",
            [upstream, "https://mcp.example.com", "https://mcp.example.com/"]
        ),
        // Another server's root, a sibling, something below, a name that only begins alike.
        ("https://other.example/.well-known/oauth-protected-resource", [upstream]),
        ("https://mcp.example.com/.well-known/oauth-protected-resource/other", [upstream]),
        ("https://mcp.example.com/.well-known/oauth-protected-resource/mcp/more", [upstream]),
        ("https://mcp.example.com/.well-known/oauth-protected-resource/mc", [upstream]),
        ("https://mcp.example.com/.well-known/oauth-protected-resourceful", [upstream]),
    ])
    func `that a challenge names may be about what is above, and nothing else`(
        url: String, resources: [String]
    ) {
        #expect(challenged(url) == .success(resources))
    }

    @Test(arguments: [
        "http://mcp.example.com/meta", "ftp://mcp.example.com/meta", "/meta", "",
        "http://127.0.0.1/meta", "https://mcp.example.com/meta#x", "https://u@mcp.example.com/",
        "https://mcp.example.com/" + String(repeating: "a", count: 2048),
    ])
    func `that a challenge names is https`(url: String) {
        guard case .failure(.unsafeURL) = challenged(url) else {
            Issue.record("accepted")
            return
        }
    }

    @Test func `on this machine needs no TLS`() {
        #expect(
            challenged("http://127.0.0.1:2/meta", for: "http://127.0.0.1:1/mcp")
                == .success(["http://127.0.0.1:1/mcp"]))
    }

    @Test func `needs no more than a resource`() throws {
        let metadata = try read(#"{"resource":"https://mcp.example.com/mcp"}"#).get()
        #expect(metadata.authorizationServers == [])
        #expect(metadata.scopes == nil)
        #expect(metadata.takesHeader)
    }

    @Test func `tells who gives tokens, and for what`() throws {
        let metadata = try read(
            #"""
            {"resource":"https://mcp.example.com/mcp","x":[1],
             "authorization_servers":["https://a.example",7,"no url","https://b.example/t"],
             "scopes_supported":["mcp:read","mcp:read","two words","","q\"x","mcp:write"],
             "bearer_methods_supported":["body"]}
            """#
        ).get()
        #expect(metadata.authorizationServers == ["https://a.example", "https://b.example/t"])
        #expect(metadata.scopes == ["mcp:read", "mcp:write"])
        #expect(!metadata.takesHeader)
        #expect(try ResourceMetadata(kept: metadata.document, for: upstream).resource == upstream)
    }

    @Test(arguments: [
        "https://mcp.example.com/mcp/", "https://mcp.example.com/MCP", "https://mcp.example.com",
        "https://MCP.example.com/mcp", "https://mcp.example.com:443/mcp",
        "http://mcp.example.com/mcp", "https://evil.example/mcp", "",
    ])
    func `about another resource is not used (RFC 9728 section 3.3)`(resource: String) {
        guard case .failure(let error) = read(#"{"resource":"\#(resource)"}"#) else {
            Issue.record("accepted")
            return
        }
        #expect(error == .resourceMismatch(expected: [upstream], received: resource))
    }

    @Test(
        arguments: [
            (404, "{}", .notHere(status: 404)), (401, "", .notHere(status: 401)),
            (403, "", .notHere(status: 403)), (405, "", .notHere(status: 405)),
            (302, "", .notHere(status: 302)), (503, "", .unavailable(status: 503)),
            (429, "", .unavailable(status: 429)), (200, "<html>", .unreadable),
            (200, "", .unreadable), (200, "[]", .unreadable), (200, "{}", .unreadable),
            (200, #"{"resource":7}"#, .unreadable),
        ] as [(Int, String, ResourceMetadataError)])
    func `may be elsewhere (I67)`(status: Int, body: String, error: ResourceMetadataError) {
        guard case .failure(let failure) = read(body, status: status) else {
            Issue.record("accepted")
            return
        }
        #expect(failure == error)
    }

    @Test func `is an error at every length but the last`() {
        let body = #"{"resource":"https://mcp.example.com/mcp","scopes_supported":["a"]}"#
        for count in 0..<body.utf8.count {
            guard case .failure(.unreadable) = read(String(body.prefix(count))) else {
                Issue.record("accepted \(count) bytes")
                continue
            }
        }
        #expect((try? read(body).get()) != nil)
    }

    @Test(arguments: [
        (#"{"resource":"https://mcp.example.com"}"#, true),
        (#"{"resource":"https://mcp.example.com/mcp"}"#, true),
        (#"{"resource":"https://mcp.example.com/mcp/x"}"#, false),
        (#"{"resource":"https://mcp.example.com/m"}"#, false),
        (#"{"resource":"https://mcp.example.com/?a"}"#, false),
        (#"{"resource":"https://other.example/mcp"}"#, false),
        (#"{"resource":"http://mcp.example.com/mcp"}"#, false),
    ])
    func `that was kept is about this server still`(body: String, isRight: Bool) throws {
        let document = try #require(try JSONReader.read(text: body).asObject)
        #expect(((try? ResourceMetadata(kept: document, for: upstream)) != nil) == isRight)
    }

    @Test func `names scopes within reason`() {
        let many = (0..<500).map { "s\($0)" }
        #expect(ScopeText.usable(many).count == ScopeText.scopesMax)
        #expect(ScopeText.usable([String(repeating: "a", count: 257), "b\\c", "é"]) == [])
    }
}
