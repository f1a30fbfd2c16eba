// The page on which a person allows or denies: whole in itself, without a script, light or dark as
// the browser is. Every text that came with the request is escaped.

import Crypto
import LoopbackServer

enum ConsentPage {
    /// - Parameters:
    ///   - ticket: names the pending request in the form that the buttons send.
    ///   - returnOrigin: where the form's answer leads; browsers want it named beside the form's
    ///     own target.
    static func reply(
        client: String, person: String, scopes: [String], ticket: String, returnOrigin: String
    ) -> ServerResponse {
        let list = scopes.map { "<li><code>\(HTMLText.escaped($0))</code></li>" }.joined()
        return page(
            200, title: "Allow access?",
            """
            <h1>Allow <strong>\(HTMLText.escaped(client))</strong> to act for you?</h1>
            <p>You are signed in as <strong>\(HTMLText.escaped(person))</strong>. It asks for:</p>
            <ul>\(list)</ul>
            <form method="post" action="/authorize">
            <input type="hidden" name="ticket" value="\(HTMLText.escaped(ticket))">
            <button name="decision" value="allow" class="allow">Allow</button>
            <button name="decision" value="deny">Deny</button>
            </form>
            <p class="small">This is the demo provider of Credential Proxy. It runs on your machine \
            only, knows one person and forgets everything when it stops.</p>
            """, formTarget: "'self' " + returnOrigin)
    }

    /// A refusal that must not be sent to the address in the request, since that is what is wrong.
    static func refusal(_ reason: String) -> ServerResponse {
        page(
            400, title: "Not a login",
            "<h1>This is not a login that we can serve</h1><p>\(HTMLText.escaped(reason))</p>",
            formTarget: "'none'")
    }

    private static func page(
        _ status: Int, title: String, _ content: String, formTarget: String
    ) -> ServerResponse {
        let digest = Base64.encode(Digest.sha256(Array(style.utf8)), .standard)
        let policy =
            "default-src 'none'; style-src 'sha256-\(digest)'; form-action \(formTarget); "
            + "frame-ancestors 'none'; base-uri 'none'"
        return ServerResponse(
            status: status,
            text: """
                <!doctype html>
                <html lang="en"><head><meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <title>\(HTMLText.escaped(title))</title><style>\(style)</style></head>
                <body><main>\(content)</main></body></html>

                """,
            contentType: "text/html; charset=utf-8",
            fields: [
                ServerField("Cache-Control", "no-store"),
                ServerField("Content-Security-Policy", policy),
                ServerField("X-Content-Type-Options", "nosniff"),
                ServerField("X-Frame-Options", "DENY"),
                ServerField("Referrer-Policy", "same-origin"),
            ])
    }

    private static let style = """
        :root{color-scheme:light dark}
        body{margin:0;font:17px/1.5 system-ui,sans-serif;background:light-dark(#f3f4f6,#15171b);\
        color:light-dark(#1c1f24,#e8eaed);display:grid;min-height:100vh;place-items:center}
        main{max-width:27rem;margin:1rem;padding:2rem;border-radius:.8rem;\
        background:light-dark(#fff,#1f2228);box-shadow:0 1px 4px #0004}
        h1{font-size:1.35rem;font-weight:600;margin:0 0 1rem;overflow-wrap:anywhere}
        code{font-size:.95em;overflow-wrap:anywhere}
        form{display:flex;gap:.75rem;margin:1.5rem 0}
        button{flex:1;padding:.65rem 1rem;font:inherit;border-radius:.5rem;cursor:pointer;\
        border:1px solid light-dark(#b9bec7,#4a505a);background:transparent;color:inherit}
        button.allow{background:light-dark(#1558d6,#8ab4f8);border-color:transparent;\
        color:light-dark(#fff,#10131a)}
        button:focus-visible{outline:3px solid light-dark(#1558d6,#8ab4f8);outline-offset:2px}
        .small{font-size:.85rem;opacity:.75;margin:0}
        """
}
