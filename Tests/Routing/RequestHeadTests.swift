import Bytes
import HTTPWire
import Routing
import Testing
import Vocabulary

@Suite struct `Head that goes upstream` {
    @Test func `keeps names, values and order byte for byte`() throws {
        let sent = try upstreamHead(
            of: """
                GET /v1/me HTTP/1.1
                Host: localhost:8080
                X-Name: Andr\u{e9}
                cookie: a=1; b="\u{ff}\u{fe}"
                ACCEPT: */*
                x-empty:\u{20}
                Accept: text/html
                """, through: .to("https://api.example"))
        #expect(
            sent == """
                GET /v1/me HTTP/1.1
                Host: api.example
                X-Name: Andr\u{e9}
                cookie: a=1; b="\u{ff}\u{fe}"
                ACCEPT: */*
                x-empty:\u{20}
                Accept: text/html

                """)
    }

    @Test func `a line that is spaced oddly is written plainly`() throws {
        let sent = try upstreamHead(
            of: "GET / HTTP/1.1\nHost: a\nX-A:1\nX-B: \t 2 \nX-C: 3", through: .to("https://b"))
        #expect(sent == "GET / HTTP/1.1\nHost: b\nX-A: 1\nX-B: 2\nX-C: 3\n")
    }

    @Test func `has one authorization at most, and it is not the client's`() throws {
        let sent = try upstreamHead(
            of: """
                GET / HTTP/1.1
                Host: localhost:8080
                authorization: Bearer dummy
                Accept: */*
                AUTHORIZATION: Basic Zm9vOmJhcg==
                """, through: .to("https://api.example"))
        #expect(sent == "GET / HTTP/1.1\nHost: api.example\nAccept: */*\n")
    }

    @Test func `loses whatever field carries the credential`() throws {
        let credential = RouteCredential(slot: CredentialSlot(0), field: "X-Goog-Api-Key")
        let sent = try upstreamHead(
            of: """
                GET / HTTP/1.1
                Host: a
                x-goog-api-key: mine
                Authorization: Bearer own
                X-GOOG-API-KEY: other
                """, through: .to("https://api.example", credential: credential))
        #expect(sent == "GET / HTTP/1.1\nHost: api.example\nAuthorization: Bearer own\n")
    }

    @Test func `loses every spelling that a server could take for a dropped name (C012)`() throws {
        let credential = RouteCredential(slot: CredentialSlot(0), field: "X-Api-Key")
        var spec = try RouteSpec.to("https://api.example", credential: credential)
        spec.setFields = [("X-Team", "blue")]
        spec.removedFields = ["X_Drop-Me"]
        spec.callerFields = [.xForwardedHost]
        let sent = try upstreamHead(
            of: """
                GET / HTTP/1.1
                Host: a
                X_Api_Key: mine
                x.api-key: mine
                X_TEAM: red
                X-Drop_Me: 1
                X-Drop-Me: 1
                X_Forwarded_Host: evil
                Content_Length: 5
                Transfer_Encoding: chunked
                Proxy_Authorization: Basic x
                X-Local_Key: s
                X_Kept: 1
                X_Api_Keys: 2
                XApi_Key: 3
                """, through: spec, consumedFields: ["x_local_key"])
        #expect(
            sent == """
                GET / HTTP/1.1
                Host: api.example
                X-Team: blue
                X_Kept: 1
                X_Api_Keys: 2
                XApi_Key: 3

                """)
    }

    @Test(arguments: [ClientFieldPolicy.keep, .refuse])
    func `a client's credential counts in every spelling (C012)`(_ policy: ClientFieldPolicy) throws
    {
        let credential = RouteCredential(
            slot: CredentialSlot(0), field: "X-Api-Key", clientField: policy)
        let plan = try RouteTable([.to("https://b", credential: credential)]).routes[0].plan
        for (name, isCredential) in [
            ("X_Api_Key", true), ("X-API.KEY", true), ("X_Apis_Key", false),
        ] {
            let verdict = try withRequest("GET / HTTP/1.1\nHost: a\n\(name): mine") {
                plan.judge($0, $1, $2)
            }
            let expected: RouteVerdict =
                !isCredential
                ? .forward(withCredential: true)
                : policy == .keep
                    ? .forward(withCredential: false) : .refuse(.clientCredentialRefused)
            #expect(verdict == expected, "\(name)")
        }
    }

    @Test func `trailers carry nothing that the head may not (C012)`() throws {
        let credential = RouteCredential(
            slot: CredentialSlot(0), field: "X-Api-Key", clientField: .keep)
        var spec = try RouteSpec.to("https://api.example", credential: credential)
        spec.setFields = [("X-Team", "blue")]
        spec.setResponseFields = [("X-Frame-Options", "DENY")]
        let plan = try RouteTable([spec]).routes[0].plan
        let lines = Array(
            "X-Api-Key: a\r\nx_api_key: b\r\nX-Sum: 9\r\nX_Team: c\r\nX-Frame_Options: d\r\n".utf8)
        lines.withUnsafeBytes { lines in
            var output = ByteBuffer()
            plan.writeRequestTrailers(lines, into: &output)
            #expect(wireText(output.bytes) == "X-Sum: 9\nX-Frame_Options: d\n")
            output.removeAll()
            plan.writeResponseTrailers(lines, into: &output)
            #expect(
                wireText(output.bytes) == "X-Api-Key: a\nx_api_key: b\nX-Sum: 9\nX_Team: c\n")
        }
    }

    @Test func `loses what concerns one connection`() throws {
        let sent = try upstreamHead(
            of: """
                GET / HTTP/1.1
                Host: localhost:8080
                Connection: Upgrade, HTTP2-Settings, X-Hop, close
                Upgrade: h2c
                HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA
                x-hop: 1
                Keep-Alive: timeout=5
                Proxy-Connection: keep-alive
                Proxy-Authorization: Basic Zm9vOmJhcg==
                TE: gzip
                X-Kept: 1
                Expect: 100-continue
                Trailer: X-Sum
                """, through: .to("https://api.example"))
        #expect(sent == "GET / HTTP/1.1\nHost: api.example\nX-Kept: 1\n")
    }

    @Test func `keeps the length although Connection names it`() throws {
        let sent = try upstreamHead(
            of: "POST / HTTP/1.1\nHost: a\nConnection: content-length, host\nContent-Length: 2",
            through: .to("https://api.example"))
        #expect(sent == "POST / HTTP/1.1\nHost: api.example\nContent-Length: 2\n")
    }

    @Test(arguments: ["chunked", "Chunked", "chunked\t", "\tchunked "])
    func `says chunked in our words`(_ value: String) throws {
        let sent = try upstreamHead(
            of: "POST / HTTP/1.1\nHost: a\nTrailer: X-Sum\nTransfer-Encoding: \(value)\nX-A: 1",
            through: .to("https://api.example"))
        #expect(
            sent == """
                POST / HTTP/1.1
                Host: api.example
                Trailer: X-Sum
                X-A: 1
                Transfer-Encoding: chunked

                """)
    }

    @Test func `gives the length of a body that came in chunks and is held whole`() throws {
        let sent = try upstreamHead(
            of: "POST / HTTP/1.1\nHost: a\nTrailer: X-Sum\nTransfer-Encoding: chunked",
            through: .to("https://api.example"), framing: .length(42))
        #expect(sent == "POST / HTTP/1.1\nHost: api.example\nContent-Length: 42\n")
    }

    @Test(arguments: ["trailers", "gzip, Trailers", "gzip;q=0.5 ,\ttrailers"])
    func `asks for trailers when the client does`(_ value: String) throws {
        let sent = try upstreamHead(
            of: "GET / HTTP/1.1\nHost: a\nConnection: TE\nTE: \(value)",
            through: .to("https://api.example"))
        #expect(
            sent == "GET / HTTP/1.1\nHost: api.example\nTE: trailers\nConnection: TE\n")
    }

    @Test(arguments: ["", "gzip", "xtrailers", "trailers;q=1", "\"trailers\""])
    func `asks for no trailers otherwise`(_ value: String) throws {
        let sent = try upstreamHead(
            of: "GET / HTTP/1.1\nHost: a\nTE: \(value)", through: .to("https://api.example"))
        #expect(sent == "GET / HTTP/1.1\nHost: api.example\n")
    }

    @Test(arguments: [
        ("OPTIONS", "2", "1"), ("OPTIONS", "1", "0"), ("OPTIONS", "99999999999999999999", "999"),
        ("OPTIONS", "x", "x"), ("GET", "2", "2"),
    ])
    func `counts how often OPTIONS may be forwarded (RFC 9110 section 7.6.2)`(
        _ method: String, _ value: String, _ expected: String
    ) throws {
        let sent = try upstreamHead(
            of: "\(method) / HTTP/1.1\nHost: a\nMax-Forwards: \(value)",
            through: .to("https://b", credential: nil))
        #expect(sent == "\(method) / HTTP/1.1\nHost: b\nMax-Forwards: \(expected)\n")
    }

    @Test func `asks for a 100 only when told to`() throws {
        let text = "POST / HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 2"
        let sent = try upstreamHead(of: text, through: .to("https://b"), forwardsExpect: true)
        #expect(
            sent == "POST / HTTP/1.1\nHost: b\nContent-Length: 2\nExpect: 100-continue\n")
    }

    @Test func `sets and removes the fields of the route`() throws {
        var spec = try RouteSpec.to("https://api.example")
        spec.setFields = [("User-Agent", "tool/1"), ("X-Team", "a b")]
        spec.removedFields = ["cookie", "X-Secret-Thing"]
        spec.hostField = "virtual.example:8443"
        let sent = try upstreamHead(
            of: """
                GET / HTTP/1.1
                Host: a
                user-agent: curl/8
                Cookie: a=1
                x-secret-thing: 1
                X-Secret-Things: 2
                X-TEAM: mine
                """, through: spec)
        #expect(
            sent == """
                GET / HTTP/1.1
                Host: virtual.example:8443
                User-Agent: tool/1
                X-Team: a b
                X-Secret-Things: 2

                """)
    }

    @Test func `never holds what was meant for the proxy`() throws {
        let sent = try upstreamHead(
            of: "GET / HTTP/1.1\nHost: a\nx-api-key: s\nX-Local-Proxy: 1\nAuthorization: Basic s",
            through: .to("https://b", credential: nil),
            consumedFields: ["Authorization", "X-API-Key", "X-Local-Proxy"])
        #expect(sent == "GET / HTTP/1.1\nHost: b\n")
    }

    @Test func `passes the client's authorization on where no credential is set`() throws {
        let sent = try upstreamHead(
            of: "GET / HTTP/1.1\nHost: a\nAuthorization: Bearer own",
            through: .to("https://b", credential: nil))
        #expect(sent == "GET / HTTP/1.1\nHost: b\nAuthorization: Bearer own\n")
    }

    @Test func `is written the same wherever the buffer begins`() throws {
        // A second message of a connection is parsed at the start of what is left.
        let first = try upstreamHead(of: "GET /1 HTTP/1.1\nHost: a\nX: 1", through: .to("http://b"))
        let second = try upstreamHead(
            of: "\nGET /1 HTTP/1.1\nHost: a\nX: 1", through: .to("http://b"))
        #expect(first == second)
    }
}

@Suite struct `Route's fields` {
    @Test(arguments: [
        "Host", "content-length", "Transfer-Encoding", "connection", "TE", "Expect", "Upgrade",
        "authorization", "x-local",
    ])
    func `that frame, route or authenticate cannot be set`(_ name: String) throws {
        var spec = try RouteSpec.to("https://b")
        spec.setFields = [(name, "1")]
        #expect(throws: RouteError.fieldReserved(route: 0, name: name)) {
            try RouteTable([spec], consumedFields: ["X-Local"])
        }
    }

    @Test(arguments: ["", "a b", "a:", "caf\u{e9}", "a\r\nb"])
    func `need a name that is a token`(_ name: String) throws {
        var spec = try RouteSpec.to("https://b")
        spec.removedFields = [name]
        #expect(throws: RouteError.fieldNameInvalid(route: 0, name: name)) {
            try RouteTable([spec])
        }
    }

    @Test(arguments: ["a\r\nX: 1", "a\nb", "a\u{0}b", " a", "a\t", "\u{7F}"])
    func `need a value that is one line`(_ value: String) throws {
        var spec = try RouteSpec.to("https://b")
        spec.setFields = [("X-A", value)]
        #expect(throws: RouteError.fieldValueInvalid(route: 0, name: "X-A")) {
            try RouteTable([spec])
        }
    }

    @Test func `cannot keep what may hold the local secret`() throws {
        let credential = RouteCredential(slot: CredentialSlot(0), clientField: .keep)
        let spec = try RouteSpec.to("https://b", credential: credential)
        #expect(throws: RouteError.keptFieldMayHoldSecret(route: 0, name: "Authorization")) {
            try RouteTable([spec], consumedFields: ["authorization", "x-api-key"])
        }
    }

    @Test(arguments: ["Content-Length", "transfer-encoding", "Host", "TE", "upgrade", "Expect"])
    func `that frame a message are never kept for the proxy alone (C016)`(_ name: String) throws {
        #expect(throws: RouteError.fieldReserved(route: 0, name: name)) {
            try RouteTable([.to("https://b")], consumedFields: [name])
        }
    }

    @Test(arguments: ["Host", "Content-Length", "transfer-encoding", "Connection", "trailer"])
    func `that frame a message carry no credential`(_ name: String) throws {
        let credential = RouteCredential(slot: CredentialSlot(0), field: name)
        #expect(throws: RouteError.fieldReserved(route: 0, name: name)) {
            try RouteTable([.to("https://b", credential: credential)])
        }
    }
}
