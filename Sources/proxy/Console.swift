// How the commands talk to a person: facts on standard output, everything else on standard error in
// one fixed shape. Text that somebody else chose cannot move the cursor or forge a line.

import Vocabulary

/// Standard output and standard error, with manners.
struct Console: Sendable {
    let output: TextOutput
    let errors: TextOutput
    private let colours: Bool

    /// Whether standard error shows colours, and they are wanted.
    var usesColours: Bool { colours }

    /// Colour only on a terminal that can show it, and never under NO_COLOR (no-color.org).
    init(output: TextOutput, errors: TextOutput, environment: [String: String]) {
        self.output = output
        self.errors = errors
        let isUnwanted = environment["NO_COLOR", default: ""] != ""
        colours = errors.isTerminal && !isUnwanted && environment["TERM"] != "dumb"
    }

    /// Something failed: `proxy: error: …`, then what to do about it.
    func error(_ message: String, hint: String? = nil) {
        say("error", .red, message)
        if let hint { self.hint(hint) }
    }

    func warning(_ message: String) {
        say("warning", .yellow, message)
    }

    /// What can be done; quoted commands can be pasted.
    func hint(_ message: String) {
        say("hint", .cyan, message)
    }

    /// News of what is going on, on standard error.
    func note(_ message: String) {
        errors.write("proxy: \(oneLine(message))\n")
    }

    /// One line of the command's answer, on standard output.
    func line(_ text: String = "") {
        output.write(oneLine(text) + "\n")
    }

    /// The command's answer for programs, on standard output: one line, or indented where a person
    /// looks at it. A secret in it is written as "[secret]".
    func json(_ value: JSONValue) {
        if output.isTerminal {
            output.write(JSONWriter.redactedText(value, style: .indented))
        } else {
            output.write(JSONWriter.redactedText(value) + "\n")
        }
    }

    private enum Colour: String {
        case red = "31"
        case yellow = "33"
        case cyan = "36"
    }

    private func say(_ label: String, _ colour: Colour, _ message: String) {
        let label = colours ? "\u{1B}[1;\(colour.rawValue)m\(label):\u{1B}[0m" : "\(label):"
        errors.write("proxy: \(label) \(oneLine(message))\n")
    }
}

/// The text with everything escaped that could steer a terminal or look like another line: control
/// characters (C0, DEL, C1), line and paragraph separators and the marks that turn writing around.
func oneLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isSteering) else { return text }
    var safe = ""
    for scalar in text.unicodeScalars {
        if isSteering(scalar) {
            safe += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            safe.unicodeScalars.append(scalar)
        }
    }
    return safe
}

private func isSteering(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
}
