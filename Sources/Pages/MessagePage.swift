// A page that says one thing: what happened and what to do next. Whoever makes one gives words, never
// HTML.

/// One message in the middle of a page.
package struct MessagePage: Sendable {
    package enum Part: Sendable {
        case text(String)
        /// To be pasted into a shell.
        case command(String)
        /// Buttons that lead to other pages, the first the one that most want. Addresses are http, https
        /// or relative.
        case links([(label: String, url: String)])
        case chips([String])
        /// What a person types elsewhere, letter by letter.
        case digits(String)
        /// For whoever looks closer.
        case small(String)
        /// A form of two buttons; the fields are sent with either.
        case choice(Choice)
    }

    package struct Choice: Sendable {
        package var action: String
        package var fields: [(name: String, value: String)]
        /// The name of both buttons.
        package var name: String
        package var yes: (label: String, value: String)
        package var no: (label: String, value: String)

        package init(
            action: String, fields: [(name: String, value: String)], name: String,
            yes: (label: String, value: String), no: (label: String, value: String)
        ) {
            self.action = action
            self.fields = fields
            self.name = name
            self.yes = yes
            self.no = no
        }
    }

    package var tone: Tone
    package var icon: Icon
    package var heading: String
    package var parts: [Part]

    package init(_ tone: Tone, _ icon: Icon, _ heading: String, _ parts: [Part]) {
        self.tone = tone
        self.icon = icon
        self.heading = heading
        self.parts = parts
    }

    package var page: HTMLPage {
        let content = parts.map(Self.html).joined(separator: "\n")
        return HTMLPage(
            title: heading,
            body: """
                <main class="word">\(HTMLPage.mark)
                <section class="\(tone.rawValue)"><span class="badge">\(icon.html)</span>
                <h1>\(HTMLText.escaped(heading))</h1>
                \(content)
                </section></main>
                """)
    }

    private static func html(_ part: Part) -> String {
        func safe(_ text: String) -> String { HTMLText.escaped(text) }
        switch part {
        case .text(let text): return "<p>\(safe(text))</p>"
        case .command(let text): return "<p><code class=\"command\">\(safe(text))</code></p>"
        case .links(let links):
            let buttons = links.enumerated().map { index, link in
                let kind = index == 0 ? "button main" : "button"
                return "<a class=\"\(kind)\" href=\"\(safe(link.url))\">\(safe(link.label))</a>"
            }
            return "<p class=\"row\">\(buttons.joined())</p>"
        case .chips(let words):
            return "<ul class=\"chips\">"
                + words.map { "<li>\(safe($0))</li>" }.joined() + "</ul>"
        case .digits(let text): return "<p class=\"digits\">\(safe(text))</p>"
        case .small(let text): return "<p class=\"small\">\(safe(text))</p>"
        case .choice(let choice):
            let hidden = choice.fields.map { field in
                "<input type=\"hidden\" name=\"\(safe(field.name))\" value=\"\(safe(field.value))\">"
            }
            func button(_ answer: (label: String, value: String), _ kind: String) -> String {
                "<button\(kind) name=\"\(safe(choice.name))\" value=\"\(safe(answer.value))\">"
                    + "\(safe(answer.label))</button>"
            }
            return "<form class=\"row\" method=\"post\" action=\"\(safe(choice.action))\">"
                + hidden.joined() + button(choice.yes, " class=\"main\"") + button(choice.no, "")
                + "</form>"
        }
    }
}

extension HTMLPage {
    /// Whose page it is.
    package static let mark = "<p class=\"mark\">\(Icon.mark)Credential Proxy</p>"
}
