// What is wrong with a configuration, and where: facts first, then the text that a person reads.
// No problem repeats a value that could be a secret.

/// Where a value stands.
package struct Place: Hashable, Sendable {
    package enum Spot: Hashable, Sendable {
        /// Counted from 1.
        case position(line: Int, column: Int)
        /// The file as a whole.
        case file
        /// A flag of the command line, "--upstream".
        case flag(String)
        /// A variable of the environment.
        case variable(String)
    }

    package let file: String?
    package let spot: Spot

    package init(file: String?, spot: Spot) {
        self.file = file
        self.spot = spot
    }

    package static func flag(_ name: String) -> Place { Place(file: nil, spot: .flag(name)) }
}

extension Place: CustomStringConvertible {
    /// `file:line:column`, or the flag.
    package var description: String {
        switch spot {
        case .position(let line, let column): "\(file ?? ""):\(line):\(column)"
        case .file: file ?? ""
        case .flag(let name): name
        case .variable(let name): "$\(name)"
        }
    }
}

/// One thing to mend.
package struct ConfigurationProblem: Error, Hashable, Sendable {
    package let place: Place
    /// Lower case, no full stop, the offending value quoted.
    package let message: String
    /// What to write instead.
    package let hint: String?

    package init(_ place: Place, _ message: String, hint: String? = nil) {
        self.place = place
        self.message = message
        self.hint = hint
    }
}

extension ConfigurationProblem: CustomStringConvertible {
    package var description: String {
        let place = "\(place)"
        return place.isEmpty ? message : "\(place): \(message)"
    }
}

/// Everything that was found wrong, in the order of the file; never empty.
package struct ConfigurationError: Error, Hashable, Sendable {
    package let problems: [ConfigurationProblem]

    package init(_ problems: [ConfigurationProblem]) {
        precondition(!problems.isEmpty, "an error names at least one problem")
        self.problems = problems
    }
}

/// Collects problems, so that one run shows them all.
final class ProblemList {
    private(set) var all: [ConfigurationProblem] = []
    /// More than these help nobody.
    private static let max = 50

    func add(_ place: Place, _ message: String, hint: String? = nil) {
        guard all.count < Self.max else { return }
        all.append(ConfigurationProblem(place, message, hint: hint))
    }

    /// Throws when anything was added.
    func check() throws(ConfigurationError) {
        guard !all.isEmpty else { return }
        throw ConfigurationError(
            all.enumerated().sorted { left, right in
                let places = (left.element.place.order, right.element.place.order)
                return places.0 == places.1 ? left.offset < right.offset : places.0 < places.1
            }.map(\.element))
    }
}

extension Place {
    /// Where the place stands among the others of its file.
    fileprivate var order: (Int, Int) {
        if case .position(let line, let column) = spot { (line, column) } else { (0, 0) }
    }
}

/// Whether a URL, or what is meant as one, has user information, which may hold a password and so is
/// never repeated.
func namesUser(_ url: String) -> Bool {
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    return url[start...].prefix { $0 != "/" }.contains("@")
}

/// A value as it can stand in a message: in quotes, without control characters, cut where it is long.
func quoted(_ text: some StringProtocol) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(80) {
        let isControl = scalar.properties.generalCategory == .control
        shown.unicodeScalars.append(isControl ? "\u{FFFD}" : scalar)
    }
    return "\"\(shown)\(text.unicodeScalars.count > 80 ? "…" : "")\""
}
