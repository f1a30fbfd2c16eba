// The page that people look at: how each credential is, what went through each route, and what there is
// to do. It is whole without a script; with one it keeps itself up to date.

package import Pages
import Vocabulary

package struct StatusPage {
    private let facts: StatusFacts
    private let token: String
    private let notice: Notice?

    /// - Parameters:
    ///   - token: goes with every form, so that only this page can send one.
    ///   - notice: what came of the last thing that was asked for here.
    package init(_ facts: StatusFacts, token: String, notice: Notice?) {
        self.facts = facts
        self.token = token
        self.notice = notice
    }

    package var page: HTMLPage {
        let verdict = Verdict(facts)
        var page = HTMLPage(title: verdict.headline, body: body(verdict))
        page.bodyAttributes =
            "data-now=\"\(facts.now.seconds)\" data-revision=\"\(facts.revision)\""
        page.style = StatusStyle.sheet
        page.script = StatusScript.text
        page.formTargets = "'self'"
        return page
    }

    private func body(_ verdict: Verdict) -> String {
        """
        <div class="wide">
        <header class="top">\(HTMLPage.mark)
        <p class="live" id="live" role="status"><a href="./">Reload</a></p></header>
        <main>
        \(headline(verdict))
        \(notice.map(html) ?? "")
        \(problems)
        <section aria-labelledby="credentials"><h2 id="credentials">Credentials</h2>
        \(credentials)</section>
        <section aria-labelledby="routes"><h2 id="routes">Routes</h2>
        \(RoutesTable(facts.routes).html)</section>
        \(requests)
        </main>
        <footer class="foot"><span>Version \(escaped(facts.version))</span>
        <a href="status.json">status.json</a> <a href="readyz">readyz</a>
        <a href="metrics">metrics</a></footer>
        </div>
        """
    }

    private func headline(_ verdict: Verdict) -> String {
        let count = facts.credentials.filter { !$0.state.isReady }.count
        let whole = facts.credentials.count
        var words =
            count == 0
            ? whole == 1 ? "The credential is ready." : "All \(whole) credentials are ready."
            : "\(count) of \(whole) credentials \(count == 1 ? "is" : "are") not ready."
        if whole == 0 { words = "There are no credentials." }
        let addresses = facts.addresses.map { "<code>\(escaped($0))</code>" }
        let age = Moment(facts.now).age(facts.startedAt)
        let place = addresses.isEmpty ? "" : ", on " + addresses.joined(separator: " and ")
        return """
            <div class="verdict \(verdict.tone.rawValue)" id="verdict" data-key>\
            <span class="badge">\(verdict.icon.html)</span>\
            <h1 aria-live="polite">\(escaped(verdict.headline))</h1>\
            <p>\(words) Up for \(age)\(place).</p></div>
            """
    }

    private func html(_ notice: Notice) -> String {
        let hint = notice.hint.map { "<p>\(escaped($0))</p>" } ?? ""
        return """
            <div class="note \(notice.tone.rawValue)" role="status">\
            \(escaped(notice.text))\(hint)</div>
            """
    }

    private var problems: String {
        guard !facts.configurationProblems.isEmpty else {
            return "<div id=\"problems\" data-key></div>"
        }
        let lines = facts.configurationProblems.map { "<li>\(escaped($0))</li>" }
        return """
            <div class="note warn" id="problems" data-key>The changed configuration was not taken; the old \
            one goes on.<ul>\(lines.joined())</ul></div>
            """
    }

    private var credentials: String {
        guard !facts.credentials.isEmpty else {
            return "<div class=\"sheet\"><p class=\"none\">The configuration has none.</p></div>"
        }
        let cards = facts.credentials.map {
            CredentialCard($0, Moment(facts.now), token: token).html
        }
        return "<div class=\"cards\" data-list>\(cards.joined(separator: "\n"))</div>"
    }

    private var requests: String {
        guard facts.routes.contains(where: { $0.traffic != nil }) else { return "" }
        return """
            <section aria-labelledby="requests"><h2 id="requests">Latest requests</h2>
            \(RequestsTable(facts.requests, Moment(facts.now)).html)</section>
            """
    }
}

/// Text of others on its way into HTML.
func escaped(_ text: String) -> String { HTMLText.escaped(text) }

/// Times beside the present. The script goes on counting from the numbers in the attributes.
struct Moment {
    let now: WallTime

    init(_ now: WallTime) { self.now = now }

    func hasCome(_ time: WallTime) -> Bool { time <= now }

    /// "in 4 min 2 s", or "now".
    func until(_ time: WallTime, word: String = "in ") -> String {
        let left = difference(time, now)
        let text = left > 0 ? word + Said.span(left) : "now"
        return "<span data-until=\"\(time.seconds)\" data-word=\"\(word)\">\(text)</span>"
    }

    /// "4 min 2 s ago".
    func since(_ time: WallTime) -> String {
        "<span data-since=\"\(time.seconds)\" data-word=\" ago\">"
            + "\(Said.span(difference(now, time))) ago</span>"
    }

    /// "4 min 2 s".
    func age(_ time: WallTime) -> String {
        "<span data-since=\"\(time.seconds)\" data-word=\"\">\(Said.span(difference(now, time)))</span>"
    }

    private func difference(_ later: WallTime, _ earlier: WallTime) -> Int64 {
        let (difference, overflow) = later.seconds.subtractingReportingOverflow(earlier.seconds)
        return overflow ? (later > earlier ? .max : .min) : difference
    }
}
