// Whether somebody sits in front of this machine who could log in, and with what a page is opened for
// them. Without one nothing is ever started.

/// Somebody, and the command that shows them a page; or nobody.
package enum PersonPresence: Hashable, Sendable {
    case absent
    /// The URL is appended as the last argument.
    case present(browser: [String])

    /// - Parameters:
    ///   - browser: what was named on the command line or in the configuration; its words as the
    ///     program and its arguments.
    ///   - hasTerminal: whether the process was started from one.
    ///   - isProgram: whether a name can be run, by PATH.
    package static func detect(
        environment: [String: String], browser: [String]?, hasTerminal: Bool,
        isProgram: (String) -> Bool
    ) -> PersonPresence {
        func isSet(_ name: String) -> Bool { !(environment[name] ?? "").isEmpty }
        let hasDesktop = isSet("DISPLAY") || isSet("WAYLAND_DISPLAY")
        if let browser, !browser.isEmpty {
            return hasDesktop || hasTerminal ? .present(browser: browser) : .absent
        }
        #if os(macOS)
            return hasTerminal ? .present(browser: ["open"]) : .absent
        #else
            // On a terminal alone, xdg-open would take the terminal for a text browser.
            guard hasDesktop, isProgram("xdg-open") else { return .absent }
            return .present(browser: ["xdg-open"])
        #endif
    }

    /// The words of a command line, split at spaces; single and double quotes keep words together.
    /// Nil when a quote is left open. There is no shell: nothing else is special.
    package static func words(_ command: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in command {
            switch character {
            case quote: quote = nil
            case "'" where quote == nil, "\"" where quote == nil:
                quote = character
                word = word ?? ""
            case " " where quote == nil, "\t" where quote == nil:
                if let finished = word { words.append(finished) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        guard quote == nil else { return nil }
        return words + (word.map { [$0] } ?? [])
    }
}
