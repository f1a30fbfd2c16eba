// What pages in a real browser can do to the proxy (peers.md expectations 1 to 5): nothing, unless their
// origin is configured. Chromium runs the page, and the page reports what it was told.

import Glibc
import Support
import Synchronization
import Testing

/// A web page and the server that it comes from.
private final class Page: Sendable {
    let server: FakeUpstream
    private let reports = SharedReports()

    private final class SharedReports: Sendable {
        let all = Mutex<[String]>([])
    }

    /// - Parameters:
    ///   - script: calls `report(text)` once when it is done.
    ///   - address: what "PROXY" in the script stands for when the page is asked for.
    init(_ script: String, address: @escaping @Sendable () -> String = { "" }) throws {
        let reports = reports
        let html = """
            <!doctype html><title>page</title><body><script>
            const report = text => fetch('/report', {method: 'POST', body: text});
            const attempt = async f => { try { return await f(); } catch (e) { return 'blocked'; } };
            (async () => { \(script) })();
            </script>
            """
        server = try FakeUpstream { request in
            if request.path == "/report" { reports.all.withLock { $0.append(request.body.text) } }
            return FakeResponse(
                fields: [("Content-Type", "text/html")],
                body: Octets(
                    html.components(separatedBy: "PROXY").joined(separator: address())))
        }
    }

    var origin: String { "http://localhost:\(server.port)" }

    /// Opens the page in Chromium and waits for its report.
    func run(at url: String? = nil, rules: String = "") throws -> String {
        let profile = try TemporaryDirectory()
        let browser = try ChildProcess(
            [
                "/usr/bin/chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
                "--user-data-dir=\(profile.path)", "--remote-debugging-port=0",
            ] + (rules.isEmpty ? [] : ["--host-resolver-rules=\(rules)"]) + [url ?? origin],
            environment: ["PATH": "/usr/bin:/bin", "HOME": profile.path, "LANG": "C.UTF-8"],
            directory: profile.path)
        defer { browser.kill(SIGKILL, wholeGroup: true) }
        return try waited(for: "the page's report", within: .seconds(60)) {
            reports.all.withLock { $0.first }
        }
    }
}

/// What is known only later.
private final class Address: Sendable {
    let text = Mutex("")
}

/// RFC 6455 section 4.2.2.
private func webSocketAccept(_ key: String) throws -> String {
    let child = try ChildProcess(
        [
            "/bin/sh", "-c",
            "printf %s \"$0\" | openssl dgst -sha1 -binary | openssl base64",
            key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
        ], environment: ["PATH": "/usr/bin:/bin"], directory: "/")
    try child.waitForEnd()
    return String(child.printed(.output).text.prefix(28))
}

@Suite(.serialized, .enabled(if: getenv("BROWSER") != nil))
struct `A page in Chromium` {
    private let upstream: FakeUpstream
    private let home: ProxyHome

    init() throws {
        upstream = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                guard request.has("Upgrade") else {
                    try connection.respond(
                        FakeResponse(
                            fields: [("Access-Control-Allow-Origin", "*")], body: "secret"),
                        to: request)
                    continue
                }
                let accept = try webSocketAccept(request.value("Sec-WebSocket-Key") ?? "")
                try connection.write(
                    Octets(
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                            + "Connection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n"))
                // One text frame: "hi".
                try connection.write(Octets([0x81, 0x02, 0x68, 0x69]))
                _ = try connection.stream.waitForEnd()
                return
            }
        }
        home = try ProxyHome()
    }

    private func serve(_ settings: [String] = []) throws -> ProxyProcess {
        let file = try home.directory.write("canary-browser-token", to: "settings/token")
        let lines =
            ["listen: 127.0.0.1:0", "upstream: \(upstream.url)"] + settings + [
                "credential: { token: { file: \(file) } }"
            ]
        try home.write(configuration: lines.joined(separator: "\n") + "\n")
        return try home.serve()
    }

    /// Every way that a page has to send a request without asking anybody.
    private func attack(_ proxy: String) -> String {
        """
        const seen = [];
        const note = async (name, f) => seen.push(name + '=' + await attempt(f));
        await note('cors', async () => (await fetch('\(proxy)/v1')).status);
        await note('credentials', async () =>
            (await fetch('\(proxy)/v1', {credentials: 'include'})).status);
        await note('preflight', async () =>
            (await fetch('\(proxy)/v1', {method: 'PUT', headers: {'X-A': 'b'}})).status);
        await note('nocors', async () =>
            (await fetch('\(proxy)/v1', {method: 'POST', mode: 'no-cors', body: 'x'})).type);
        await note('image', () => new Promise(done => {
            const image = new Image(); image.onload = () => done('loaded');
            image.onerror = () => done('failed'); image.src = '\(proxy)/v1/pixel'; }));
        await note('script', () => new Promise(done => {
            const script = document.createElement('script'); script.onload = () => done('loaded');
            script.onerror = () => done('failed'); script.src = '\(proxy)/v1/code';
            document.head.append(script); }));
        await note('form', () => new Promise(done => {
            const frame = document.createElement('iframe'); frame.name = 'target';
            document.body.append(frame);
            frame.onload = () => done('sent');
            const form = document.createElement('form'); form.method = 'post';
            form.action = '\(proxy)/v1/pay'; form.target = 'target'; document.body.append(form);
            form.submit(); setTimeout(() => done('sent'), 3000); }));
        await note('beacon', async () => navigator.sendBeacon('\(proxy)/v1/beacon', 'x'));
        await note('websocket', () => new Promise(done => {
            const socket = new WebSocket('\(proxy)'.replace('http', 'ws') + '/v1/ws');
            socket.onmessage = m => done('got ' + m.data); socket.onerror = () => done('failed'); }));
        await report(seen.join(' '));
        """
    }

    @Test func `of another origin reaches nothing (expectations 2, 3, 4)`() throws {
        let proxy = try serve()
        let page = try Page(attack("http://localhost:\(proxy.port)"))
        let report = try page.run()
        for line in [
            "cors=blocked", "credentials=blocked", "preflight=blocked", "websocket=failed",
        ] {
            #expect(report.contains(line), "\(report)")
        }
        #expect(upstream.requests.isEmpty, "\(report)")
        #expect(upstream.connectionCount == 0)
    }

    @Test func `of an opaque origin reaches nothing`() throws {
        let proxy = try serve()
        let inner = attack("http://localhost:\(proxy.port)")
            .components(separatedBy: "await report(seen.join(' '))")
            .joined(separator: "parent.postMessage(seen.join(' '), '*')")
        let page = try Page(
            """
            const frame = document.createElement('iframe'); frame.sandbox = 'allow-scripts allow-forms';
            const code = `const attempt = async f => { try { return await f(); }
                catch (e) { return 'blocked'; } }; (async () => { \(inner) })();`;
            frame.srcdoc = '<body><scr' + 'ipt>' + code + '</scr' + 'ipt>';
            window.onmessage = m => report(m.data); document.body.append(frame);
            """)
        let report = try page.run()
        #expect(report.contains("cors=blocked"), "\(report)")
        #expect(upstream.connectionCount == 0, "\(report)")
    }

    @Test func `of a rebound name reaches nothing (expectation 1)`() throws {
        // The page's own server and the proxy share the attacker's name; the proxy's port is asked for
        // as the same site, and as the same origin once the name has been rebound.
        let proxy = try serve()
        let page = try Page(attack("http://rebound.example:\(proxy.port)"))
        let report = try page.run(
            at: "http://rebound.example:\(page.server.port)/",
            rules: "MAP rebound.example 127.0.0.1")
        #expect(report.contains("cors=blocked"), "\(report)")
        #expect(report.contains("websocket=failed"), "\(report)")
        #expect(upstream.connectionCount == 0, "\(report)")
    }

    @Test func `that is allowed reads, writes and talks (case C115)`() throws {
        // The page must know the proxy's port and the proxy the page's origin: the page asks its server.
        let address = Address()
        let page = try Page(attack("PROXY"), address: { address.text.withLock { $0 } })
        let proxy = try serve(["allowed_origins: [\"\(page.origin)\"]"])
        address.text.withLock { $0 = "http://localhost:\(proxy.port)" }
        let report = try page.run()
        for line in ["cors=200", "credentials=200", "preflight=200", "websocket=got hi"] {
            #expect(report.contains(line), "\(report)")
        }
        #expect(upstream.requests.allSatisfy { $0.method != "OPTIONS" })
        #expect(
            upstream.requests.allSatisfy {
                $0.value("Authorization") == "Bearer canary-browser-token"
            })
    }
}
