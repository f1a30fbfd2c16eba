// The few pages that a browser sees at the end of a login or a log-out: text of our own, without a script, a
// picture or anything that came in a URL, and nothing that a browser may keep.

import LoopbackServer

/// One page.
struct CallbackPage: Sendable {
    let status: Int
    private let title: String
    private let text: String

    private init(_ status: Int, _ title: String, _ text: String) {
        self.status = status
        self.title = title
        self.text = text
    }

    static let loggedIn = CallbackPage(
        200, "Logged in", "The proxy has the login now. You can close this page.")
    static let loggedOut = CallbackPage(
        200, "Logged out",
        "The login is forgotten, here and at the provider. You can close this page.")
    static let ignoredLogout = CallbackPage(
        400, "Ignored", "The log-out is still waiting: this answer belongs to another one.")
    static let nothingHere = CallbackPage(404, "Not here", "There is no page at this address.")
    /// An answer to a browser that looks ahead; it will come again.
    static let tooEarly = CallbackPage(503, "Not yet", "Open this page to finish the login.")
    static let over = CallbackPage(
        400, "No login", "This login is over. Start another one where you started this one.")
    static let wrongMethod = CallbackPage(405, "Not possible", "This page can only be opened.")

    static func notHere(expectedPath: String) -> CallbackPage {
        CallbackPage(
            404, "Not here",
            "The login's callback is at the path \(expectedPath). If the provider sent you here, its "
                + "redirect URI is registered differently.")
    }

    /// A message that is not this login's answer; the login goes on.
    static func ignored(_ reason: String) -> CallbackPage {
        CallbackPage(400, "Ignored", "The login is still waiting: \(reason).")
    }

    static func failed(_ reason: String) -> CallbackPage {
        CallbackPage(200, "Login failed", "The login failed: \(reason).")
    }

    var response: ServerResponse {
        let body = """
            <!doctype html>
            <html lang="en">
            <head><meta charset="utf-8"><title>\(HTMLText.escaped(title)) - Credential Proxy</title></head>
            <body><h1>\(HTMLText.escaped(title))</h1><p>\(HTMLText.escaped(text))</p></body>
            </html>

            """
        return ServerResponse(
            status: status, text: body, contentType: "text/html; charset=utf-8",
            fields: Self.fields + (status == 405 ? [ServerField("Allow", "GET")] : []))
    }

    /// Nothing is kept, nothing is leaked, nothing is run.
    static let fields = [
        ServerField("Cache-Control", "no-store"),
        ServerField(
            "Content-Security-Policy",
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
        ServerField("Referrer-Policy", "no-referrer"),
        ServerField("X-Content-Type-Options", "nosniff"),
    ]
}
