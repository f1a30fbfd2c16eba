// Answers of the proxy's own for a person whose browser opened an address of it: a page where programs get
// a problem document, and nothing in place of the API's own answers.

import Support
import Testing

@Suite(.ownThread) struct `An error that a person meets in a browser` {
    private static let browser = [
        ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"), ("Sec-Fetch-Site", "none"),
        ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"),
    ]

    @Test func `is a page that says what to do, with the same facts`() throws {
        let setup = try LoginSetup()
        let proxy = try setup.home.serve()
        let page = try proxy.exchange("GET", "/v1/me", fields: Self.browser)
        #expect(page.status == 503)
        #expect(page.value("Content-Type") == "text/html; charset=utf-8")
        #expect(page.value("Content-Security-Policy")?.hasPrefix("default-src 'none'") == true)
        #expect(page.value("Cache-Control") == "no-store")
        #expect(page.value("Proxy-Status")?.contains("login_required") == true)
        #expect(page.has("Retry-After"))
        #expect(page.body.text.contains("503 login_required: answered by Credential Proxy"))
        #expect(page.body.text.contains("proxy login"))
        #expect(!page.body.text.contains("<script"))
        let login = page.body.text.components(separatedBy: "href=\"\(setup.server.issuer)")
        #expect(login.count == 2, "the login can be begun from there")
        #expect(try proxy.exchange("GET", "/v1/me").isOurs(503, "login_required"))
    }

    @Test func `is a problem document for whatever does not open pages`() throws {
        let setup = try LoginSetup()
        let proxy = try setup.home.serve()
        for fields in [
            [("Accept", "text/html")], [("Accept", "*/*"), ("Sec-Fetch-Site", "same-origin")],
            [("Accept", "application/json, text/html"), ("Sec-Fetch-Site", "none")],
        ] {
            #expect(
                try proxy.exchange("GET", "/", fields: fields).isOurs(503, "login_required"),
                "\(fields)")
        }
        #expect(
            try proxy.exchange("POST", "/", fields: Self.browser, body: "x")
                .isOurs(503, "login_required"))
    }

    @Test func `does not stand before what the API says`() throws {
        let upstream = try FakeUpstream { _ in
            FakeResponse(500, fields: [("X-A", "b")], body: "theirs")
        }
        let setup = try DirectSetup(to: upstream)
        let answer = try setup.proxy.exchange("GET", "/", fields: Self.browser)
        #expect((answer.status, answer.body) == (500, "theirs"))
    }
}
