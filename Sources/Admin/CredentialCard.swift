// One credential on the page: its state in words and colour, how long its token lasts, what happened to
// it and what can be done with it.

import Pages
import Vocabulary

struct CredentialCard {
    private let facts: CredentialFacts
    private let moment: Moment
    private let token: String
    private let words: StateWords

    init(_ facts: CredentialFacts, _ moment: Moment, token: String) {
        self.facts = facts
        self.moment = moment
        self.token = token
        words = StateWords(facts)
    }

    var html: String {
        let name = escaped(facts.name)
        return """
            <article class="card \(words.tone.rawValue)" id="c-\(name)" data-key aria-labelledby="n-\(name)">\
            <header><h3 id="n-\(name)">\(name)</h3>\
            <p class="pill">\(words.icon.html)\(escaped(words.label))</p></header>
            \(lead)\(waiting)\(list)\(scopes)\(actions)</article>
            """
    }

    // MARK: What it says

    /// The countdown, or why there is none.
    private var lead: String {
        if facts.state == .usable, let end = facts.expiresAt {
            let what =
                facts.isRenewable
                ? "until this token expires; renewed before" : "until this token expires"
            return """
                <div><p class="big">\(moment.until(end, word: ""))</p><p>\(what)</p></div>
                \(timeline(to: end))
                """
        }
        var parts: [String] = []
        // What went wrong last has a line of its own.
        if let detail = facts.detail, detail != facts.lastError {
            parts.append("<strong>\(escaped(Self.sentence(detail)))</strong>")
        }
        if let sentence = words.sentence { parts.append(escaped(sentence)) }
        return parts.isEmpty ? "" : "<p class=\"why\">\(parts.joined(separator: " "))</p>"
    }

    /// The token's life from left to right, with the moment of the next refresh.
    private func timeline(to end: WallTime) -> String {
        guard let start = facts.obtainedAt, start < end else { return "" }
        let whole = Double(end.seconds) - Double(start.seconds)
        func place(_ time: WallTime) -> Int {
            Int(min(1, max(0, (Double(time.seconds) - Double(start.seconds)) / whole)) * 1000)
        }
        let next = facts.nextRefreshAt.map {
            "<rect class=\"next\" x=\"\(min(994, place($0)))\" width=\"6\" height=\"10\"/>"
        }
        return """
            <svg class="span" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">\
            <rect class="gone" data-from="\(start.seconds)" data-to="\(end.seconds)" \
            width="\(place(moment.now))" height="10"/>\(next ?? "")</svg>
            """
    }

    /// A login that somebody could take part in now.
    private var waiting: String {
        guard let pending = facts.pendingLogin, let code = pending.userCode else { return "" }
        return """
            <div><p class="why">Requests wait. Open <a href="\(escaped(pending.url))" rel="noreferrer" \
            target="_blank">the provider's page</a> on any device and enter</p>\
            <p class="digits">\(escaped(code))</p></div>
            """
    }

    private var list: String {
        var rows: [(String, String)] = []
        func time(_ label: String, _ time: WallTime?, _ said: (WallTime) -> String) {
            if let time { rows.append((label, said(time))) }
        }
        func text(_ label: String, _ text: String?) {
            if let text { rows.append((label, escaped(text))) }
        }
        if facts.state != .usable, let end = facts.expiresAt, moment.hasCome(end) {
            rows.append(("Expired", moment.since(end)))
        }
        time("Failing since", facts.failingSince, moment.since)
        if facts.state != .renewable, let next = facts.nextRefreshAt {
            rows.append(
                (facts.failingSince == nil ? "Next refresh" : "Next try", moment.until(next)))
        }
        time("Last refresh", facts.lastRefreshAt, moment.since)
        if let error = facts.lastError {
            let ago = facts.lastErrorAt.map { " <small>\(moment.since($0))</small>" } ?? ""
            rows.append(("Last error", "<span class=\"tone\">\(escaped(error))</span>\(ago)"))
        }
        for refusal in facts.refusals.prefix(3) {
            rows.append(
                (
                    "Refused",
                    "\(escaped(refusal.sentence)) <small>\(moment.since(refusal.at))</small>"
                ))
        }
        if let end = facts.loginEndsAt {
            rows.append(("Login ends", moment.hasCome(end) ? moment.since(end) : moment.until(end)))
        }
        if let off = facts.clockDifference {
            rows.append(
                (
                    "Clock",
                    "\(Said.span(abs(off))) \(off > 0 ? "ahead of" : "behind") the provider's"
                ))
        }
        time("Metadata", facts.metadataStaleSince) { "not renewed since \(moment.since($0))" }
        text("Provider", facts.issuer)
        text("Account", facts.subject)
        if let hint = facts.hint, !facts.canLogIn {
            rows.append(("Try", "<code>\(escaped(hint))</code>"))
        }
        guard !rows.isEmpty else { return "" }
        return "<dl class=\"facts\">"
            + rows.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" }.joined() + "</dl>"
    }

    private var scopes: String {
        let granted = facts.scopes.map { "<li>\(escaped($0))</li>" }
        let missing = facts.missingScopes.map {
            "<li class=\"missing\">\(escaped($0))<span class=\"hide\"> (not granted)</span></li>"
        }
        guard !(granted + missing).isEmpty else { return "" }
        return "<ul class=\"chips\" aria-label=\"Scopes\">\((granted + missing).joined())</ul>"
    }

    // MARK: What can be done

    private var actions: String {
        var outside: [String] = []
        var inside: [String] = []
        let isHealthy = facts.state.isReady || facts.state == .failing
        if facts.canRefresh {
            outside.append(form("refresh", facts.state == .failing ? "Try now" : "Refresh now"))
        }
        if facts.canLogIn, !isHealthy || facts.endsSoon {
            outside.append(form("login", "Log in", style: "main"))
        } else if facts.canLogIn {
            inside.append(form("login", "Log in again"))
        }
        if facts.canLogOut {
            inside.append(
                "<p>Forgets the login on this machine and revokes its tokens at the provider.</p>"
                    + form("logout", "Log out", style: "danger"))
        }
        if !inside.isEmpty {
            outside.append(
                "<details id=\"m-\(escaped(facts.name))\"><summary>More</summary>"
                    + inside.joined() + "</details>")
        }
        return outside.isEmpty ? "" : "<div class=\"acts\">\(outside.joined())</div>"
    }

    private func form(_ action: String, _ label: String, style: String = "") -> String {
        let name = escaped(facts.name)
        let look = style.isEmpty ? "" : " class=\"\(style)\""
        return """
            <form method="post" action="\(action)">\
            <input type="hidden" name="token" value="\(token)">\
            <input type="hidden" name="credential" value="\(name)">\
            <button\(look) id="\(action)-\(name)">\(label)<span class="hide"> \(name)</span></button></form>
            """
    }

    /// Messages are lower case without a full stop.
    private static func sentence(_ text: String) -> String {
        guard let first = text.first else { return text }
        return first.uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
    }
}
