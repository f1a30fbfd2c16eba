// How states are said: a word, a sign, a colour, and the sentence that tells what happens next. One place,
// so that page, headline and readiness agree.

import Pages
import Vocabulary

/// The words for one credential.
struct StateWords {
    let tone: Tone
    let icon: Icon
    let label: String
    /// What goes on, or what there is to do; nil where the countdown says it.
    let sentence: String?

    init(_ facts: CredentialFacts) {
        switch facts.state {
        case .usable:
            (tone, icon, label) =
                facts.endsSoon
                ? (.warn, .warning, "Ends soon") : (.good, .check, "Usable")
            sentence = facts.expiresAt == nil ? Self.sentence(ofLasting: facts) : nil
        case .renewable:
            (tone, icon, label) = (.calm, .cycle, "Renewable")
            sentence =
                facts.kind == .command
                ? "A program prints the token when a request needs one."
                : "The next request gets a fresh token."
        case .failing:
            (tone, icon, label) = (.warn, .warning, "Failing for now")
            sentence = "The provider is not well. It is asked again by itself."
        case .loginRequired:
            (tone, icon, label) = (.bad, .person, "Login required")
            sentence = "Requests that need it are answered 503 until somebody logs in."
        case .denied:
            (tone, icon, label) = (.bad, .cross, "Denied")
            sentence =
                facts.canLogIn
                ? "The provider said no. Log in again, or ask whoever runs it."
                : "The provider said no. Ask whoever runs it."
        case .misconfigured:
            (tone, icon, label) = (.bad, .cross, "Misconfigured")
            sentence = "The provider refuses this client as it is configured."
        case .unavailable:
            (tone, icon, label) = (.bad, .cross, "Unavailable")
            sentence = "There is no token, and no login would bring one."
        }
    }

    private static func sentence(ofLasting facts: CredentialFacts) -> String {
        switch facts.kind {
        case .file: "A token from a file, read again whenever the file changes."
        case .environment: "A token from an environment variable."
        case .command: "A token that a program printed."
        case .login, .machine:
            "The provider does not say how long this token lasts; a refusal by the API renews it."
        }
    }
}

/// The page's first line.
struct Verdict {
    let tone: Tone
    let icon: Icon
    let headline: String

    init(_ facts: StatusFacts) {
        func those(_ states: Set<CredentialState>) -> [String] {
            facts.credentials.filter { states.contains($0.state) }.map(\.name)
        }
        func said(_ names: [String], _ one: String, _ many: String) -> String {
            names.count == 1 ? "\(names[0]) \(one)" : "\(names.count) credentials \(many)"
        }
        let (logins, failing) = (those([.loginRequired]), those([.failing]))
        let broken = those([.denied, .misconfigured, .unavailable])
        if facts.isDraining {
            (tone, icon, headline) = (.warn, .pause, "The proxy is ending")
        } else if !logins.isEmpty && broken.isEmpty {
            (tone, icon) = (.bad, .person)
            headline = said(logins, "needs a login", "need a login")
        } else if !logins.isEmpty || !broken.isEmpty {
            (tone, icon) = (.bad, .cross)
            headline = said(logins + broken, "needs you", "need you")
        } else if !facts.configurationProblems.isEmpty {
            (tone, icon) = (.warn, .warning)
            headline = "The changed configuration was not taken"
        } else if !failing.isEmpty {
            (tone, icon) = (.warn, .warning)
            headline = said(failing, "is failing for now", "are failing for now")
        } else if let ending = facts.credentials.first(where: \.endsSoon) {
            (tone, icon) = (.warn, .warning)
            headline = "The login of \(ending.name) ends soon"
        } else {
            (tone, icon, headline) = (.good, .check, "Everything works")
        }
    }
}

/// Spans of time and numbers as people read them.
package enum Said {
    /// The two largest units: "3 d 4 h", "1 h 5 min", "4 min 58 s", "12 s". The page's script has the same.
    package static func span(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        let (days, hours) = (seconds / 86_400, seconds % 86_400 / 3600)
        let (minutes, rest) = (seconds % 3600 / 60, seconds % 60)
        if days > 0 { return "\(days) d \(hours) h" }
        if hours > 0 { return "\(hours) h \(minutes) min" }
        return minutes > 0 ? "\(minutes) min \(rest) s" : "\(rest) s"
    }

    /// "12,480".
    static func number(_ value: UInt64) -> String {
        var text = ""
        for (index, digit) in String(value).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    /// "38 ms", "2.1 s".
    static func duration(milliseconds: UInt64) -> String {
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        let tenths = milliseconds / 100
        return tenths % 10 == 0 || tenths >= 1000
            ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }

    /// "≤ 50 ms": counts by length know no more.
    static func bound(milliseconds: UInt64?) -> String {
        milliseconds.map { "≤ " + duration(milliseconds: $0) } ?? "–"
    }
}
