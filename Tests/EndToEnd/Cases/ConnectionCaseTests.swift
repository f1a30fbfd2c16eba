// Connections to the upstream: kept, found dead, replaced (RFC 9112 section 9.3.1; RFC 9110 section 9.2.2).

import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Cases: connections` {
    @Test func `connections are kept and used again`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream)
        for _ in 0..<20 { #expect(try setup.proxy.exchange().status == 200) }
        #expect(upstream.connectionCount <= 4, "\(upstream.connectionCount)")
    }

    /// A small version of C060's two hundred rounds: the upstream closes each connection when the next
    /// request is about to come.
    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
    func `a kept connection that dies is replaced without notice (C060)`(method: String) throws {
        let upstream = try FakeUpstream { connection in
            // Answers one request; closes as soon as the first byte of the next one is there.
            let request = try connection.expectRequest()
            try connection.respond(.ok(request.body), to: request)
            guard try connection.stream.fill(within: .seconds(60)) else { return }
            connection.stream.reset()
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        for round in 0..<20 {
            let body: Octets? = method == "PUT" ? Octets("body \(round)") : nil
            let response = try client.exchange(method, "/\(round)", body: body)
            #expect(response.status == 200, "round \(round)")
            if let body { #expect(response.body == body) }
        }
        #expect(upstream.requests.count == 20)
    }

    @Test func `two hundred requests at the moment of the idle close all succeed (C060)`() throws {
        // The upstream's patience and the client's pace are the same, so that closes and requests
        // cross on the wire again and again.
        let pace = Duration.milliseconds(20)
        let upstream = try FakeUpstream { connection in
            // Only what has been used is idle: a slow machine takes longer than that to send the first.
            var patience = Duration.seconds(10)
            while true {
                do {
                    guard try connection.stream.fill(within: patience) else { return }
                    patience = pace
                } catch Failure.deadline {
                    return
                }
                let request = try connection.expectRequest()
                try connection.respond(.ok(Octets(request.path)), to: request)
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        for round in 0..<200 {
            let response = try client.exchange("GET", "/\(round)")
            #expect(response.status == 200, "round \(round): \(response)")
            pause(pace)
        }
        #expect(upstream.connectionCount > 1, "closes happened")
    }

    @Test func `connections that the upstream closed while idle are not used`() throws {
        let closed = SharedValue(0)
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            try connection.respond(.ok(), to: request)
            connection.stream.close()
            closed.change { $0 += 1 }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        for round in 0..<20 {
            // POST may not be sent twice: only a connection known to be open will do.
            #expect(try client.exchange("POST", "/\(round)", body: "x").status == 200)
            try waited(for: "the close") { closed.value > round ? () : nil }
            pause(.milliseconds(50))
        }
        #expect(upstream.requests.count == 20)
    }

    @Test(arguments: ["POST", "PATCH"])
    func `what is not idempotent is never sent twice (C061)`(method: String) throws {
        for isReused in [false, true] {
            let upstream = try FakeUpstream { connection in
                while let request = try connection.readRequest() {
                    if request.path != "/warm" { return connection.stream.reset() }
                    try connection.respond(.ok(), to: request)
                }
            }
            let setup = try DirectSetup(to: upstream)
            let client = try setup.proxy.connect()
            if isReused { #expect(try client.exchange("GET", "/warm").status == 200) }
            let response = try client.exchange(method, "/orders/7/cancel", body: "")
            #expect(response.status == 502)
            #expect(response.has("Proxy-Status"))
            #expect(upstream.requests.filter { $0.path != "/warm" }.count == 1)
        }
    }

    @Test func `what is idempotent is sent again once at the most`() throws {
        let upstream = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                if request.path != "/warm" { return connection.stream.reset() }
                try connection.respond(.ok(), to: request)
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        #expect(try client.exchange("GET", "/warm").status == 200)
        #expect(try client.exchange("GET", "/x").status == 502)
        #expect(upstream.requests.filter { $0.path == "/x" }.count <= 2)
    }

    @Test func `an upstream that cannot be reached becomes 502`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream)
        upstream.stop()
        let response = try setup.proxy.exchange()
        #expect(response.isOurs(502, "upstream_unreachable"), "\(response)")
        #expect(response.values("Proxy-Status").joined().contains("connection_refused"))
    }

    @Test func `an upstream that does not answer becomes 504`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            _ = try connection.stream.waitForEnd(within: .seconds(30))
        }
        let setup = try DirectSetup(to: upstream, settings: ["timeouts: { response_head: 1s }"])
        let response = try setup.proxy.exchange("POST", "/", body: "x")
        #expect(response.isOurs(504, "upstream_timeout"), "\(response)")
        #expect(upstream.requests.count == 1)
    }

    @Test func `requests over many connections at once are all answered`() throws {
        let upstream = try FakeUpstream { request in .ok(request.body) }
        let setup = try DirectSetup(to: upstream)
        let clients = try (0..<64).map { _ in try setup.proxy.connect() }
        for round in 0..<5 {
            for (number, client) in clients.enumerated() {
                try client.send(client.request("POST", "/", body: Octets("\(round)/\(number)")))
            }
            for (number, client) in clients.enumerated() {
                let response = try client.stream.readResponse(to: "POST")
                #expect(response.body == Octets("\(round)/\(number)"))
            }
        }
    }

    @Test func `clients that send no head, or too slowly, are let go`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(
            to: upstream, settings: ["timeouts: { client_head: 1s, client_idle: 1s }"])
        let silent = try setup.proxy.connect()
        let slow = try setup.proxy.connect()
        let idle = try setup.proxy.connect()
        #expect(try idle.exchange().status == 200)
        // One byte now and then does not buy more time.
        let head = Octets(slow.request().bytes.prefix(12))
        do {
            try slow.stream.writeByteByByte(head, pausing: .milliseconds(250))
        } catch Failure.reset {}
        for client in [silent, slow, idle] {
            #expect(try client.stream.readToEnd(within: .seconds(5)).count < 1000)
        }
        #expect(upstream.requests.count == 1)
    }

    @Test func `Connection: close of either side is honoured`() throws {
        let upstream = try FakeUpstream { request in FakeResponse(body: "bye", closes: true) }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        // The upstream's close is not the client's.
        #expect(try client.exchange().body == "bye")
        let last = try client.exchange("GET", "/", fields: [("Connection", "close")])
        #expect(last.value("Connection") == "close")
        #expect(try client.stream.waitForEnd() == .closed)
    }
}

@Suite(.ownThread) struct `Upstreams over TLS` {
    private func upstream(_ identity: TestAuthority.Identity) throws -> FakeUpstream {
        try FakeUpstream(
            tls: .server(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        ) { request in .ok(request.body) }
    }

    @Test func `are verified against the configured authority and kept alive`() throws {
        let authority = TestAuthority()
        let upstream = try upstream(authority.loopback())
        let setup = try DirectSetup(
            to: upstream, settings: ["ca_file: \(YAML.quoted(authority.caFile))"])
        let body = Octets.pattern(count: 300_000)
        let client = try setup.proxy.connect()
        for _ in 0..<3 { #expect(try client.exchange("POST", "/", body: body).body == body) }
        #expect(upstream.connectionCount == 1)
        #expect(
            try upstream.requests.item(0).values("Authorization") == [DirectSetup.authorization])
    }

    @Test(arguments: ["unknown authority", "expired", "wrong host"])
    func `get no request when the certificate is not good`(fault: String) throws {
        let (authority, other) = (TestAuthority(), TestAuthority(name: "Other"))
        let identity =
            switch fault {
            case "expired": authority.expired()
            case "wrong host": authority.wrongHost()
            default: other.loopback()
            }
        let upstream = try upstream(identity)
        let setup = try DirectSetup(
            to: upstream, settings: ["ca_file: \(YAML.quoted(authority.caFile))"])
        let response = try setup.proxy.exchange("GET", "/")
        #expect(response.isOurs(502, "upstream_tls_failed"), "\(response)")
        #expect(upstream.requests.isEmpty)
    }

    @Test func `are not trusted without the system's or a configured authority`() throws {
        let authority = TestAuthority()
        let upstream = try upstream(authority.loopback())
        let setup = try DirectSetup(to: upstream)
        #expect(try setup.proxy.exchange().isOurs(502, "upstream_tls_failed"))
        #expect(upstream.requests.isEmpty)
    }
}
