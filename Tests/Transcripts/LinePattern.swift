// An expected line, in which a few names in brackets stand for what changes from run to run.

/// Matches whole lines.
struct LinePattern {
    private enum Piece: Sendable {
        case text(Substring)
        /// At least one character, each of which passes.
        case run(@Sendable (Character) -> Bool)
        /// Any characters or none.
        case anything
    }

    private static let names: [(String, Piece)] = [
        ("[number]", .run { $0.isASCII && $0.isNumber }),
        ("[time]", .run { $0.isASCII && ($0.isNumber || "-T:.Z ".contains($0)) }),
        ("[duration]", .run { $0.isASCII && ($0.isNumber || "hms".contains($0)) }),
        ("[...]", .anything),
    ]

    private let pieces: [Piece]

    init(_ line: String) {
        var pieces: [Piece] = []
        var rest = line[...]
        var text = rest.prefix(0)
        while !rest.isEmpty {
            if let (name, piece) = Self.names.first(where: { rest.hasPrefix($0.0) }) {
                if !text.isEmpty { pieces.append(.text(text)) }
                pieces.append(piece)
                rest = rest.dropFirst(name.count)
                text = rest.prefix(0)
            } else {
                text = line[text.startIndex...rest.startIndex]
                rest = rest.dropFirst()
            }
        }
        if !text.isEmpty { pieces.append(.text(text)) }
        self.pieces = pieces
    }

    func matches(_ line: String) -> Bool { Self.matches(pieces[...], line[...]) }

    private static func matches(_ pieces: ArraySlice<Piece>, _ line: Substring) -> Bool {
        guard let piece = pieces.first else { return line.isEmpty }
        let rest = pieces.dropFirst()
        switch piece {
        case .text(let text):
            return line.hasPrefix(text) && matches(rest, line.dropFirst(text.count))
        case .run(let passes):
            let longest = line.prefix(while: passes).count
            return (0..<longest).contains { matches(rest, line.dropFirst(longest - $0)) }
        case .anything:
            return (0...line.count).contains { matches(rest, line.dropFirst($0)) }
        }
    }
}
