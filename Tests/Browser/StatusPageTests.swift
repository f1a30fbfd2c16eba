// The status page in a real browser, against the demo's provider and API: a person logs in there, sees the
// token's time run, refreshes and logs out, with a script and without. With SCREENSHOTS=FOLDER every page
// is kept as a picture, light and dark, narrow and wide.

import Demo
import Glibc
import Support
import Testing

@Suite(.serialized, .enabled(if: getenv("BROWSER") != nil))
struct `The status page in Chromium` {
    private let world: DemoWorld
    private let home: ProxyHome
    private let proxy: ProxyProcess
    private let page: String

    init() throws {
        world = try DemoWorld.start(.init(accessTokenLifetimeSeconds: 600))
        home = try ProxyHome()
        let token = try home.directory.write("canary-page-token", to: "settings/token")
        try home.write(
            configuration: """
                listen: ["127.0.0.1:0"]
                admin: "127.0.0.1:0"
                routes:
                  - { path: /demo, upstream: "\(world.api)", credential: demo }
                  - { path: /reports, upstream: "\(world.api)", credential: machine }
                  - { path: /static, upstream: "\(world.api)", credential: static }
                credentials:
                  demo: { issuer: "\(world.issuer)", client_id: \(world.clientID), scopes: [\(world.scopes.joined(separator: ", "))] }
                  machine:
                    grant: client_credentials
                    token_endpoint: http://127.0.0.1:9/token
                    client_id: nightly
                    client_secret: { file: \(jsonText(token)) }
                  static: { token: { file: \(jsonText(token)) } }

                """)
        proxy = try home.serve()
        let log = proxy.child
        page = try waited(for: "the status page's address") {
            for line in log.printed(.error).text.components(separatedBy: "\n")
            where line.contains("status page") {
                let parts = line.components(separatedBy: "http://127.0.0.1:")
                guard parts.count > 1 else { continue }
                return "http://127.0.0.1:\(parts[1].prefix { $0.isNumber })/"
            }
            return nil
        }
    }

    /// Keeps what is shown, in four forms.
    private func picture(_ name: String, _ browser: Chromium) throws {
        guard let folder = getenv("SCREENSHOTS").map({ String(cString: $0) }) else { return }
        for (size, width, height) in [("wide", 1280, 900), ("narrow", 390, 800)] {
            for (look, isDark) in [("light", false), ("dark", true)] {
                try browser.show(width: width, height: height, isDark: isDark)
                let coded = try browser.screenshot()
                let file = "\(folder)/\(name)-\(size)-\(look).png"
                let child = try ChildProcess(
                    ["/bin/sh", "-c", "base64 -d >\"$0\"", file],
                    environment: ["PATH": "/usr/bin:/bin"], directory: "/", input: Octets(coded))
                try child.waitForEnd()
            }
        }
        try browser.show(width: 1280, height: 900, isDark: false)
    }

    private func logIn(_ browser: Chromium) throws {
        try browser.click("#login-demo")
        try browser.wait(forText: "to act for you?")
        try picture("consent", browser)
        try browser.click("button[value=allow]")
        try browser.wait(forText: "Logged in to demo.")
    }

    private func secondsLeft(_ browser: Chromium) throws -> Int {
        let text = try browser.evaluate("document.querySelector('#c-demo .big').textContent")
        let numbers = text.components(separatedBy: " ").compactMap { Int($0) }
        return numbers.count == 2 ? numbers[0] * 60 + numbers[1] : numbers.first ?? -1
    }

    @Test func `a person logs in, sees the time run, refreshes and logs out`() throws {
        let browser = try Chromium()
        try browser.open(page)
        try browser.wait(forText: "demo needs a login")
        try browser.wait(forText: "Live")
        try picture("status-empty", browser)
        #expect(try proxy.exchange("GET", "/demo/v1/me").status == 503)

        try logIn(browser)
        #expect(try browser.evaluate("location.href") == page, "nothing of the login stays there")
        #expect(try proxy.exchange("GET", "/demo/v1/me").status == 200)
        _ = try proxy.exchange("GET", "/reports/v1")
        _ = try proxy.exchange("GET", "/static/v1")
        try browser.wait(forText: "until this token expires")
        let first = try secondsLeft(browser)
        #expect((1...600).contains(first))
        try browser.wait(
            for: "the countdown",
            "(() => { const n = document.querySelector('#c-demo .big').textContent.match(/\\d+/g).map(Number);"
                + " return n[0] * 60 + n[1] < \(first - 2); })()")
        try picture("status", browser)

        let before = world.counters.tokenRequests["refresh_token"] ?? 0
        try browser.click("#refresh-demo")
        try browser.wait(forText: "Refreshed demo")
        #expect(world.counters.tokenRequests["refresh_token"] == before + 1)
        #expect(try secondsLeft(browser) > first - 2)
        try picture("status-refreshed", browser)

        try browser.click("#m-demo summary")
        try picture("status-more", browser)
        try browser.click("#logout-demo")
        try browser.wait(forText: "Logged out of demo")
        try browser.wait(forText: "demo needs a login")
        #expect(try Files.read(home.loginFile("demo")) == nil)
        for printed in home.printed() { #expect(!printed.text.contains("canary")) }
    }

    @Test func `it follows what happens elsewhere without being loaded again`() throws {
        let browser = try Chromium()
        try browser.open(page)
        try browser.wait(forText: "Live")
        _ = try browser.evaluate("String(window.mark = 'same page')")
        let login = try home.start(
            ["login", "demo", "--print-url", "--config", home.configurationFile])
        let url = try waited(for: "the address") {
            login.printed(.output).text.components(separatedBy: "\n").first { $0.hasPrefix("http") }
        }
        let other = try Chromium()
        try other.open(url)
        try other.click("button[value=allow]")
        try other.wait(forText: "Logged in")
        try picture("callback", other)
        try browser.wait(forText: "until this token expires")
        #expect(try browser.evaluate("window.mark") == "same page")
        try proxy.stop()
        try browser.wait(forText: "The proxy does not answer")
    }

    @Test func `it works without a script`() throws {
        let browser = try Chromium()
        try browser.allowScripts(false)
        try browser.open(page)
        try browser.wait(forText: "demo needs a login")
        try logIn(browser)
        try browser.click("#refresh-demo")
        try browser.wait(forText: "Refreshed demo")
        try browser.click("#m-demo summary")
        try browser.click("#logout-demo")
        try browser.wait(forText: "Logged out of demo")
    }

    @Test func `a login that is denied says so, and leads back`() throws {
        let browser = try Chromium()
        try browser.open(page)
        try browser.click("#login-demo")
        try browser.click("button[value=deny]")
        try browser.wait(forText: "Login failed")
        try picture("callback-denied", browser)
        try browser.click("a.main")
        try browser.wait(forText: "demo needs a login")
        try browser.wait(forText: "access_denied")
    }

    @Test func `errors of the pages are pages`() throws {
        let browser = try Chromium()
        for (name, path) in [("not-found", "nothing"), ("method", "login")] {
            try browser.open(page + path)
            try browser.wait(forText: "Status page")
            try picture(name, browser)
        }
        // What the proxy itself answers, where somebody opens an API's address.
        try browser.open("\(proxy.url)/demo/v1/me")
        try browser.wait(forText: "answered by Credential Proxy")
        try picture("error", browser)
        try browser.click("a.main")
        try browser.wait(forText: "to act for you?")
    }
}
