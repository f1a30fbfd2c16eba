// Package.swift as a table: which room may import which. Read as text, since asking the package
// manager would take it longer than all of these tests.

struct Manifest {
    /// Of each room under Sources, what it may import, C libraries included.
    let rooms: [String: Set<String>]
    /// The system libraries, which are rooms without code.
    let libraries: Set<String>

    static let ofPackage = Manifest(Repository.file("Package.swift")?.text ?? "")

    init(_ text: String) {
        var rooms: [String: Set<String>] = [:]
        // room("Name", ["Import", …]) and .executableTarget(name: "proxy", dependencies: [ … ])
        let room = /\broom\(\s*"(\w+)"(?:\s*,\s*\[([^\]]*)\])?/
        let program = /\.executableTarget\(\s*name:\s*"(\w+)"\s*,\s*dependencies:\s*\[([^\]]*)\]/
        for match in text.matches(of: room) {
            rooms[String(match.output.1)] = Self.names(match.output.2 ?? "")
        }
        for match in text.matches(of: program) {
            rooms[String(match.output.1)] = Self.names(match.output.2)
        }
        self.rooms = rooms
        let library = /\.systemLibrary\(\s*name:\s*"(\w+)"/
        libraries = Set(text.matches(of: library).map { String($0.output.1) })
    }

    private static func names(_ list: Substring) -> Set<String> {
        Set(list.matches(of: /"(\w+)"/).map { String($0.output.1) })
    }
}
