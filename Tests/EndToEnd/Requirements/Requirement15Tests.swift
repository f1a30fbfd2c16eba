// The loopback callback of a login (peers.md requirement 15; expectation 13; cases C070, C071, C072, C074,
// C076).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 15: callback safety` {
    private let setup: LoginSetup

    init() throws { setup = try LoginSetup() }

    /// A login that waits for its callback, and what its browser was told.
    private struct Pending {
        let child: ChildProcess
        let query: FormText
        let port: UInt16
        let path: String

        var state: String { query["state"] ?? "" }

        func callback(_ pairs: [(name: String, value: String)]) -> String {
            "\(path)?\(FormText(pairs).encoded)"
        }

        func get(_ target: String, method: String = "GET", fields: [(String, String)] = []) throws
            -> HTTPMessage
        {
            try RawClient(to: port).exchange(
                method, target, fields: fields + [("Connection", "close")])
        }
    }

    /// Starts `proxy login --print-url` and reads the URL.
    private func pending(_ arguments: [String] = []) throws -> Pending {
        let child = try setup.home.start(
            ["login", "--print-url", "--config", setup.home.configurationFile] + arguments)
        let url = try waited(for: "the login URL") { () throws -> String? in
            guard child.isRunning else { throw Failure.ended(child.printed(.error).text) }
            let text = child.printed(.output).text + child.printed(.error).text
            return text.components(separatedBy: "\n").lazy.flatMap {
                $0.components(separatedBy: " ")
            }.first { $0.hasPrefix("\(setup.server.origin)/authorize?") && $0.contains("state=") }
        }
        let query = FormText(reading: url.components(separatedBy: "?").dropFirst().joined())
        let target = try #require(query["redirect_uri"])
        let parts = target.components(separatedBy: "/")
        let port = try #require(UInt16(parts[2].components(separatedBy: ":").last ?? ""))
        return Pending(
            child: child, query: query, port: port,
            path: "/" + parts.dropFirst(3).joined(separator: "/"))
    }

    /// What the provider's redirect would carry.
    private func code(for pending: Pending) throws -> String {
        let response = try RawClient(to: setup.server.port).exchange(
            "GET", "/authorize?" + pending.query.encoded)
        let location = try #require(response.value("Location"))
        let query = FormText(reading: location.components(separatedBy: "?").last ?? "")
        return try #require(query["code"])
    }

    @Test func `PKCE, state and redirect are as they must be`() throws {
        let pending = try pending()
        #expect(pending.query["code_challenge_method"] == "S256")
        #expect(pending.query["code_challenge"]?.utf8.count == 43)
        #expect(pending.state.utf8.count >= 22)
        #expect(pending.query["response_type"] == "code")
        #expect(pending.query["redirect_uri"] == "http://127.0.0.1:\(pending.port)/callback")
        let code = try code(for: pending)
        let page = try pending.get(pending.callback([("code", code), ("state", pending.state)]))
        #expect(page.status == 200)
        #expect(try pending.child.waitForEnd() == .exited(0))
        #expect(setup.server.codeRequests.count == 1)
        let form = try setup.server.codeRequests.item(0).form
        #expect(form["redirect_uri"] == pending.query["redirect_uri"])
        #expect((43...128).contains(form["code_verifier"]?.utf8.count ?? 0))
        #expect(try setup.home.run(["status"]).status == 0)
    }

    @Test func `a wrong state gets 400 and the login goes on`() throws {
        let pending = try pending()
        let code = try code(for: pending)
        for state in ["", "wrong", pending.state + "x", String(pending.state.dropLast())] {
            let page = try pending.get(pending.callback([("code", code), ("state", state)]))
            #expect(page.status == 400)
            #expect(!page.body.contains(Octets(pending.state)), "the expected state is not shown")
        }
        #expect(try pending.get(pending.callback([("code", code)])).status == 400)
        #expect(setup.server.codeRequests.isEmpty)
        #expect(pending.child.isRunning)
        #expect(
            try pending.get(pending.callback([("code", code), ("state", pending.state)])).status
                == 200)
        #expect(try pending.child.waitForEnd() == .exited(0))
    }

    @Test func `a wrong iss is refused before any token request`() throws {
        let pending = try pending()
        let code = try code(for: pending)
        _ = try pending.get(
            pending.callback([
                ("code", code), ("state", pending.state), ("iss", "https://evil.example"),
            ]))
        #expect(setup.server.codeRequests.isEmpty)
    }

    @Test func `a right iss is accepted`() throws {
        let pending = try pending()
        let code = try code(for: pending)
        let page = try pending.get(
            pending.callback([
                ("code", code), ("state", pending.state), ("iss", setup.server.issuer),
            ]))
        #expect(page.status == 200)
        #expect(try pending.child.waitForEnd() == .exited(0))
    }

    @Test func `a missing iss is refused where the provider promised one`() throws {
        setup.server.set { $0.announcesIssuerParameter = true }
        let pending = try pending()
        let code = try code(for: pending)
        _ = try pending.get(pending.callback([("code", code), ("state", pending.state)]))
        #expect(setup.server.codeRequests.isEmpty)
    }

    @Test func `strays do not complete or block a login (C071)`() throws {
        let pending = try pending()
        let silent = try RawClient(to: pending.port)
        try RawClient(to: pending.port).stream.reset()
        #expect(try pending.get("/favicon.ico").status == 404)
        #expect(try pending.get("/").status == 404)
        #expect(
            [200, 204, 400, 405].contains(try pending.get(pending.path, method: "HEAD").status))
        let foreign = try pending.get(pending.path, fields: [("Host", "evil.example")])
        #expect([400, 421].contains(foreign.status))
        let code = try code(for: pending)
        #expect(
            try pending.get(pending.callback([("code", code), ("state", pending.state)])).status
                == 200)
        #expect(try pending.child.waitForEnd(within: .seconds(10)) == .exited(0))
        silent.stream.close()
    }

    @Test func `a prefetched callback spends the code once (C072)`() throws {
        let pending = try pending()
        let code = try code(for: pending)
        let target = pending.callback([("code", code), ("state", pending.state)])
        let pages = try [[("Sec-Purpose", "prefetch")], []].map { fields -> HTTPMessage? in
            do {
                return try pending.get(target, fields: fields)
            } catch is Failure where !pending.child.isRunning {
                // The login was over; the listener exists only during a login.
                return nil
            }
        }
        #expect(pages.contains { $0?.status == 200 })
        for page in pages { #expect(page?.value("Cache-Control") ?? "no-store" == "no-store") }
        #expect(try pending.child.waitForEnd() == .exited(0))
        #expect(setup.server.codeRequests.count == 1)
    }

    @Test func `an error is reported at once and never as HTML of the caller's (C074)`() throws {
        let pending = try pending()
        let page = try pending.get(
            pending.callback([
                ("error", "access_denied"), ("state", pending.state),
                ("error_description", "<script>fetch('http://localhost:8080/v1/me')</script>"),
            ]))
        #expect(!page.body.contains("<script"))
        #expect(page.value("Content-Security-Policy")?.contains("default-src 'none'") == true)
        #expect(page.value("X-Content-Type-Options") == "nosniff")
        #expect(page.value("Referrer-Policy") == "no-referrer")
        #expect(page.value("Cache-Control") == "no-store")
        #expect(try pending.child.waitForEnd() == .exited(4), "denied")
        #expect(setup.server.codeRequests.isEmpty)
    }

    @Test func `an error with a wrong state is not believed`() throws {
        let pending = try pending()
        #expect(
            try pending.get(pending.callback([("error", "access_denied"), ("state", "x")])).status
                == 400)
        #expect(pending.child.isRunning)
    }

    @Test func `a pinned port in use ends the login at once (C076)`() throws {
        let other = try FakeUpstream { _ in .ok() }
        let setup = try LoginSetup(credential: [
            "redirect_uri: \"http://127.0.0.1:\(other.port)/callback\""
        ])
        let result = try setup.home.run(
            ["login", "--browser", setup.browser()], within: .seconds(10))
        #expect(result.status == 1, "\(result)")
        #expect(result.error.contains("port \(other.port)"), "\(result.error)")
        #expect(result.error.contains("in use"), "\(result.error)")
        #expect(setup.server.authorizations.isEmpty)
    }

    @Test func `a localhost redirect is served on both families (C070)`() throws {
        for host in ["127.0.0.1", "::1"] {
            let port = try FakeUpstream { _ in }.port
            let setup = try LoginSetup(
                setup.server, setup.api,
                credential: ["redirect_uri: \"http://localhost:\(port)/callback\""])
            let child = try setup.home.start(
                ["login", "--print-url", "--config", setup.home.configurationFile])
            try waited(for: "the callback listener") { () throws -> Void? in
                guard child.isRunning else { throw Failure.ended(child.printed(.error).text) }
                let page = try? RawClient(to: port, host: host).exchange(
                    "GET", "/favicon.ico", fields: [("Host", "localhost:\(port)")])
                return page?.status == 404 ? () : nil
            }
        }
    }

    @Test func `the listener is gone when the login is over`() throws {
        let pending = try pending()
        pending.child.kill(2)
        _ = try pending.child.waitForEnd()
        #expect(throws: Failure.self) { try RawClient(to: pending.port) }
    }
}
