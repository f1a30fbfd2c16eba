// The table of rooms in ARCHITECTURE.md, which tells a reader what Package.swift tells the compiler.

/// Rows of the form `| names | one job | refuses | may import |` below the heading "Rooms".
struct RoomsTable {
    /// What each room may import, by that file; nil where it says "all".
    let rooms: [String: Set<String>?]

    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard
            let heading = lines.firstIndex(where: { $0.wholeMatch(of: /#+ .*\bRooms\b.*/) != nil })
        else { return nil }
        var rooms: [String: Set<String>?] = [:]
        for line in lines[(heading + 1)...].drop(while: { !$0.hasPrefix("|") }).prefix(while: {
            $0.hasPrefix("|")
        }) {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst()
            guard cells.count >= 4, let first = cells.first, first.contains("`") else { continue }
            let imports = cells[cells.startIndex + 3]
            let mayImportAll = imports.contains(/\ball\b/)
            for name in Self.words(first) {
                rooms[name] = mayImportAll ? .some(nil) : .some(Self.words(imports))
            }
        }
        self.rooms = rooms
    }

    private static func words(_ cell: Substring) -> Set<String> {
        Set(cell.matches(of: /\w+/).map { String($0.output) })
    }
}
