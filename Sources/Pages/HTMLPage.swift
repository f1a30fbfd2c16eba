// One whole page: its text, and the header fields that let it do what it needs and nothing else. A page
// asks for nothing outside itself; what it shows has been escaped by whoever made it.

/// A document in the house style.
package struct HTMLPage: Sendable {
    /// Plain text.
    package var title: String
    /// HTML.
    package var body: String
    /// Attributes of the body element, HTML.
    package var bodyAttributes = ""
    /// Style besides `HouseStyle.sheet`.
    package var style = ""
    /// Run at the end; it may talk to the page's own server.
    package var script = ""
    /// Where forms may lead, as a source list of Content Security Policy. What a browser checks
    /// includes the redirects that answer the form.
    package var formTargets = "'none'"
    /// The page is left for that address by itself.
    package var next: (url: String, afterSeconds: Int)?

    package init(title: String, body: String) {
        self.title = title
        self.body = body
    }

    /// The text and the fields that must go with it. Each call has a nonce of its own, so that style and
    /// script are the ones that were written here (Content Security Policy Level 3, section 6.7.3).
    package func written() -> (text: String, fields: [(name: String, value: String)]) {
        let nonce = PageNonce.fresh()
        var head = """
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <link rel="icon" href="\(Icon.favicon)">
            <title>\(HTMLText.escaped(title)) - Credential Proxy</title>
            <style nonce="\(nonce)">\(HouseStyle.sheet)\(style)</style>

            """
        if let next {
            let target = HTMLText.escaped("\(next.afterSeconds); url=\(next.url)")
            head += "<meta http-equiv=\"refresh\" content=\"\(target)\">\n"
        }
        let end = script.isEmpty ? "" : "<script nonce=\"\(nonce)\">\(script)</script>\n"
        let text = """
            <!doctype html>
            <html lang="en">
            <head>
            \(head)</head>
            <body\(bodyAttributes.isEmpty ? "" : " " + bodyAttributes)>
            \(body)
            \(end)</body>
            </html>

            """
        return (text, fields(nonce))
    }

    private func fields(_ nonce: String) -> [(name: String, value: String)] {
        var policy = "default-src 'none'; style-src 'nonce-\(nonce)'; img-src data:; "
        if !script.isEmpty {
            policy += "script-src 'nonce-\(nonce)'; connect-src 'self'; "
        }
        policy += "form-action \(formTargets); base-uri 'none'; frame-ancestors 'none'"
        // A form tells its origin, which "no-referrer" would take away.
        let referrer = formTargets == "'none'" ? "no-referrer" : "same-origin"
        return [("Content-Security-Policy", policy), ("Referrer-Policy", referrer)]
            + Self.safeFields
    }

    /// Nothing is kept, framed or guessed.
    package static let safeFields: [(name: String, value: String)] = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
}

/// A text that nobody can guess and that needs no escaping.
package enum PageNonce {
    /// 128 bits of the system's randomness (getrandom(2), arc4random_buf(3)), in hexadecimal.
    package static func fresh() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(UInt64.random(in: 0 ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
