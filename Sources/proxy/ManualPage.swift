// The manual page proxy(1), made from the same help texts that "proxy help" prints, in the man(7)
// macros that every man understands. What no help text says, about files and variables, stands here.

/// Text of the page.
enum ManualPage {
    static var text: String {
        var page = Page()
        page.raw(
            ".TH PROXY 1 \(VersionCommand.date) \"Credential Proxy \(VersionCommand.number)\"")
        page.section("NAME")
        page.raw("proxy \\- attach fresh credentials to requests on their way to an API")
        page.section("SYNOPSIS")
        page.raw("\\fBproxy\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]")
        page.section("DESCRIPTION")
        page.sentences(
            "Listens on this machine, forwards each request to an API that the configuration names, and attaches a fresh credential on the way. Callers never see, store or refresh a token."
        )
        page.section("COMMANDS")
        for command in CommandTable.commands { page.command(command.help) }
        page.section("CONFIGURATION")
        page.sentences(
            "The first of these that is there: the file of --config, the one that PROXY_CONFIG names, ./proxy.yaml, $XDG_CONFIG_HOME/credential-proxy/config.yaml, /etc/credential-proxy/config.yaml. It is YAML, or JSON. Every key is explained in the reference that is installed with the examples; \"proxy init\" writes a file to start from, and \"proxy check\" says what is wrong with one."
        )
        page.list("FILES", files)
        page.list("ENVIRONMENT", variables)
        page.list("EXIT STATUS", exits)
        page.list("SIGNALS", signals)
        return page.text
    }

    private static let files: [CommandHelp.Row] = [
        .init("~/.config/credential-proxy/config.yaml", "the configuration of a user"),
        .init("/etc/credential-proxy/config.yaml", "the configuration of the system"),
        .init(
            "~/.local/state/credential-proxy",
            "logins, one file for each, readable to nobody else; state_dir names another place"),
    ]

    private static let variables: [CommandHelp.Row] = [
        .init("PROXY_CONFIG", "the configuration, where --config does not name one"),
        .init("XDG_CONFIG_HOME, XDG_STATE_HOME", "where configuration and logins are looked for"),
        .init("DISPLAY, WAYLAND_DISPLAY", "a desktop, on which a login page can be opened"),
        .init(
            "http_proxy, https_proxy, all_proxy, no_proxy",
            "the way out, where forward_proxy does not say another"),
        .init("NO_COLOR", "no colour, whatever the terminal"),
    ]

    private static let exits: [CommandHelp.Row] = [
        .init("0", "done"), .init("1", "failed"), .init("2", "the command line is not understood"),
        .init("3", "a login is needed"), .init("4", "denied, by the person or the provider"),
        .init("5", "timed out"), .init("78", "the configuration is at fault"),
        .init("126, 127", "\"proxy run\": the program cannot be started, or there is none"),
        .init("130", "interrupted"),
        .init(
            "others", "\"proxy run\": those of its program, or 128 and the number of its signal"),
    ]

    private static let signals: [CommandHelp.Row] = [
        .init(
            "SIGTERM, SIGINT",
            "\"proxy serve\" finishes what runs, within the grace period; a second one ends it at once"
        ),
        .init("SIGHUP", "it reads its configuration again"),
        .init("SIGUSR1", "its log says everything; after SIGUSR2 what is configured again"),
    ]

    /// Text as roff(7) takes it: nothing in it is a macro or an escape by accident.
    fileprivate static func escaped(_ text: String) -> String {
        var escaped = ""
        for letter in text {
            switch letter {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case "\"": escaped += "\\(dq"
            default: escaped.append(letter)
            }
        }
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }
}

/// Lines of roff.
private struct Page {
    private(set) var text = ""

    mutating func raw(_ line: String) { text += line + "\n" }

    mutating func section(_ title: String) { raw(".SH \"\(title)\"") }

    mutating func paragraph(_ text: String) {
        raw(".PP")
        sentences(text)
    }

    /// On lines that stay below 80 letters; a formatter joins them again.
    mutating func sentences(_ text: String) {
        var line = ""
        for word in text.split(separator: " ").map({ ManualPage.escaped(String($0)) }) {
            if !line.isEmpty, line.utf8.count + 1 + word.utf8.count > 79 {
                raw(line)
                line = ""
            }
            line += line.isEmpty ? word : " " + word
        }
        raw(line)
    }

    mutating func item(_ term: String, _ meaning: String) {
        raw(".TP")
        raw("\\fB\(ManualPage.escaped(term))\\fR")
        sentences(meaning)
    }

    mutating func list(_ title: String, _ rows: [CommandHelp.Row]) {
        section(title)
        for row in rows { item(row.left, row.right) }
    }

    mutating func command(_ help: CommandHelp) {
        raw(".SS \"proxy \(help.name)\"")
        raw("\\fBproxy \(help.name)\\fR")
        sentences(help.synopsis)
        paragraph(help.summary.prefix(1).uppercased() + help.summary.dropFirst() + ".")
        for flag in help.flags { item(flag.left, flag.right) }
        for note in help.notes { paragraph(note) }
        for example in help.examples {
            paragraph(example.right.prefix(1).uppercased() + example.right.dropFirst() + ":")
            raw(".PP")
            raw(".in +4n")
            raw(".nf")
            raw(ManualPage.escaped(example.left))
            raw(".fi")
            raw(".in")
        }
    }
}
