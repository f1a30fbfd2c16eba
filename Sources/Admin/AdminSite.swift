// The admin listener's addresses: pages and facts by GET, which changes nothing, and what can be done by
// POST, with a token that only this process's own page knows.

import Bytes
package import LoopbackServer
import Pages
package import Vocabulary

/// Answers the requests that the guard lets through.
package final class AdminSite: Sendable {
    private let desk: any AdminDesk
    private let board = NoticeBoard()
    private let time: any TimeSource
    /// Goes with every form of the page; another one in each run.
    private let token = PageNonce.fresh() + PageNonce.fresh()

    package init(_ desk: any AdminDesk, time: any TimeSource = SystemTime()) {
        self.desk = desk
        self.time = time
    }

    /// - Parameter isForBrowsers: whether the request came where a browser could send it.
    package func answer(
        _ request: ServerRequest, isForBrowsers: Bool = true
    ) async -> ServerResponse {
        let isPost = request.method == "POST"
        guard isPost || request.method == "GET" || request.method == "HEAD" else {
            return wrongMethod("GET, HEAD, POST")
        }
        switch request.path {
        case "/login", "/refresh", "/logout":
            guard isPost else { return wrongMethod("POST") }
            return await act(request, isForBrowsers ? request.field("Host") : nil)
        case "/quit": return isPost ? quit() : wrongMethod("POST")
        case "/", "/livez", "/readyz", "/status.json", "/metrics", "/code":
            return isPost ? wrongMethod("GET, HEAD") : await look(request)
        default:
            return .message(
                404, .calm, .cross, "There is no such page",
                [.links([("Status page", "/")])])
        }
    }

    // MARK: Looking

    private func look(_ request: ServerRequest) async -> ServerResponse {
        let query = FormFields(request.query ?? "")
        switch request.path {
        case "/livez": return .line(200, "ok")
        case "/readyz": return await readiness(query["credential"], isStranger: request.isStranger)
        case "/status.json": return .json(await desk.facts().document)
        case "/metrics":
            guard let text = await desk.metrics() else { return .line(404, "nothing is counted") }
            return ServerResponse(
                status: 200, text: text, contentType: MetricsText.contentType,
                fields: [ServerField("Cache-Control", "no-store")])
        case "/code": return codePage(query["login"] ?? "")
        default:
            var notice: Notice?
            if let id = query["notice"] { notice = await board.noticeSoon(id) }
            let page = StatusPage(await desk.facts(), token: token, notice: notice)
            return ServerResponse(status: 200, page: page.page)
        }
    }

    private func readiness(_ name: String?, isStranger: Bool) async -> ServerResponse {
        let facts = await desk.facts()
        if let name, facts.isReady(for: name) == nil, !isStranger {
            return .line(404, "there is no such credential")
        }
        let isReady = name.map { facts.isReady(for: $0) ?? false } ?? facts.isReady
        let status = isReady ? 200 : 503
        return isStranger
            ? .line(status, isReady ? "ready" : "not ready")
            : .json(facts.readiness, status: status)
    }

    /// Shows a code until somebody has used it; reloads by itself.
    private func codePage(_ id: String) -> ServerResponse {
        guard let prompt = board.prompt(id), board.notice(id) == nil else {
            return .redirect(to: "/?notice=\(id.utf8.allSatisfy(Self.isWordByte) ? id : "")")
        }
        let now = time.bootTime()
        let left = prompt.until.milliseconds - min(prompt.until.milliseconds, now.milliseconds)
        var page = MessagePage(
            .calm, .person, "Enter this code",
            [
                .text("Open the provider's page, here or on another device, and type:"),
                .digits(prompt.userCode), .links([("Open the page", prompt.url), ("Back", "/")]),
                .small(
                    "\(prompt.url) – good for \(Said.span(Int64(clamping: left / 1000))). This page "
                        + "goes on by itself."),
            ]
        ).page
        page.next = ("/code?login=\(id)", 3)
        return ServerResponse(status: 200, page: page)
    }

    // MARK: Doing

    private func act(_ request: ServerRequest, _ host: String?) async -> ServerResponse {
        let type = request.field("Content-Type")?.lowercased() ?? ""
        guard type.hasPrefix("application/x-www-form-urlencoded") else {
            return .line(415, "send a form")
        }
        let form = FormFields(String(decoding: request.body, as: UTF8.self))
        guard form["token"].map(isOurs) ?? false, let name = form["credential"] else {
            return .message(
                403, .bad, .cross, "This form is out of date",
                [
                    .text(
                        "The proxy was started again since the page was loaded. Nothing was done."),
                    .links([("Status page", "/")]),
                ])
        }
        switch request.path {
        case "/login": return await logIn(name, host)
        case "/refresh": return show(board.post(await desk.refresh(name)))
        default: return await logOut(name)
        }
    }

    private func isOurs(_ text: String) -> Bool {
        var text = text
        let secret = SecretBytes(token)
        return text.withUTF8 { secret.equals(UnsafeRawBufferPointer($0)) }
    }

    private func logIn(_ name: String, _ host: String?) async -> ServerResponse {
        let id = board.reserve()
        let board = board
        let start = await desk.logIn(
            to: name, returnURL: host.map { "http://\($0)/?notice=\(id)" },
            ended: { board.fill(id, $0) })
        switch start {
        case .page(let url): return .leaving(to: url, "Log in at")
        case .code(let url, let userCode, let seconds):
            let until = time.bootTime().advanced(
                byMilliseconds: UInt64(max(0, min(seconds, 86_400))) * 1000)
            board.show(.init(url: url, userCode: userCode, until: until), for: id)
            return .redirect(to: "/code?login=\(id)")
        case .failed(let notice):
            board.fill(id, notice)
            return show(id)
        }
    }

    private func logOut(_ name: String) async -> ServerResponse {
        let id = board.reserve()
        let board = board
        switch await desk.logOut(of: name, ended: { board.fill(id, $0) }) {
        case .page(let url): return .leaving(to: url, "End the session at")
        case .ended(let notice):
            board.fill(id, notice)
            return show(id)
        }
    }

    /// Without a token: jobs end their sidecar by a plain request. Pages are kept out by the guard.
    private func quit() -> ServerResponse {
        guard let quit = desk.quit else {
            return .line(404, "admin: { quit: true } in the configuration allows this")
        }
        quit()
        return .line(202, "ending")
    }

    // MARK: Answers

    private func show(_ id: String) -> ServerResponse { .redirect(to: "/?notice=\(id)") }

    private func wrongMethod(_ allowed: String) -> ServerResponse {
        .message(
            405, .calm, .cross, "Not possible",
            [
                .text(
                    "This address takes \(allowed) only, and nothing was done. The status page has the "
                        + "buttons for it."), .links([("Status page", "/")]),
            ],
            fields: [ServerField("Allow", allowed)])
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || byte &- 0x61 < 26
    }
}

/// A form or query whose values need no decoding: names of ours, hexadecimal, names of credentials.
private struct FormFields {
    private let fields: [(name: Substring, value: Substring)]

    init(_ text: String) {
        fields = text.split(separator: "&").prefix(16).map { field in
            let parts = field.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
    }

    subscript(name: String) -> String? {
        fields.first { $0.name == name[...] }.map { String($0.value) }
    }
}

extension ServerResponse {
    fileprivate static func line(_ status: Int, _ text: String) -> ServerResponse {
        ServerResponse(
            status: status, text: text + "\n",
            fields: [
                ServerField("Cache-Control", "no-store"),
                ServerField("X-Content-Type-Options", "nosniff"),
            ])
    }

    fileprivate static func json(_ value: JSONValue, status: Int = 200) -> ServerResponse {
        ServerResponse(
            status: status, text: JSONWriter.redactedText(value, style: .indented),
            contentType: "application/json",
            fields: [
                ServerField("Cache-Control", "no-store"),
                ServerField("X-Content-Type-Options", "nosniff"),
                ServerField("Cross-Origin-Resource-Policy", "same-origin"),
            ])
    }

    /// A page that leads on by itself. No redirect: where forms may lead would have to be told to the
    /// browser before anybody knows the provider's address.
    fileprivate static func leaving(to url: String, _ words: String) -> ServerResponse {
        let host = (try? WebURL(url))?.origin.host ?? "the provider"
        var page = MessagePage(
            .calm, .person, "\(words) \(host)",
            [
                .text("Your browser goes there now."),
                .links([("Go on", url), ("Back", "/")]),
            ]
        ).page
        page.next = (url, 0)
        return ServerResponse(status: 200, page: page)
    }
}
