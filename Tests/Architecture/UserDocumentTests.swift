// What README.md tells users is what the program says: messages, codes, and files that are there.

import Testing

@Suite struct `What users read` {
    private static let readme = Repository.file("README.md")?.lines ?? []

    private static let sources = Repository.sources.compactMap(\.text).joined()

    /// The rows of the tables of a section.
    private static func rows(of section: String) -> [[Substring]] {
        guard let start = readme.firstIndex(of: "## \(section)") else { return [] }
        let lines = readme[(start + 1)...].prefix { !$0.hasPrefix("## ") }
        return lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ---") }.dropFirst().map {
            $0.dropFirst().split(separator: "|", omittingEmptySubsequences: false)
        }
    }

    /// What stands between backticks.
    private static func quoted(_ cell: Substring) -> [Substring] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map(\.element)
    }

    @Test func `lists only messages that the program prints`() {
        let rows = Self.rows(of: "When something is wrong")
        #expect(rows.count >= 20)
        for row in rows {
            #expect(row.count >= 3, "\(row)")
            for message in Self.quoted(row[0]) {
                #expect(Self.sources.contains(message), "nothing prints \"\(message)\"")
            }
        }
    }

    @Test func `lists only metrics that are kept`() {
        let rows = Self.rows(of: "See how it is")
        #expect(rows.count >= 10)
        for name in rows.flatMap({ Self.quoted($0[0]) }) {
            #expect(Self.sources.contains(name), "\(name)")
        }
    }

    @Test func `lists every code of the proxy's own answers, with its status`() throws {
        let replies = try #require(
            Repository.file("Sources/DataPlane/LocalReply.swift")?.text)
        let codes = replies.matches(of: /ReplyText\(\s*(\d{3}), "([a-z_]+)"/)
        #expect(codes.count >= 20)
        let rows = Self.rows(of: "Answers of the proxy's own")
        for code in codes {
            let row = rows.first { Self.quoted($0[0]).contains(code.output.2) }
            #expect(row != nil, "README.md has no \(code.output.2)")
            #expect(
                row?[1].contains(code.output.1) == true, "\(code.output.2) is \(code.output.1)")
        }
    }

    /// The name under which a heading is linked to.
    private static func anchor(_ heading: Substring) -> String {
        var anchor = ""
        for letter in heading.drop(while: { $0 == "#" || $0 == " " }).lowercased() {
            if letter == " " {
                anchor += "-"
            } else if letter.isLetter || letter.isNumber || letter == "-" || letter == "_" {
                anchor.append(letter)
            }
        }
        return anchor
    }

    @Test(arguments: Repository.files.filter { $0.name.hasSuffix(".md") })
    func `links to what is there`(_ file: ProjectFile) throws {
        let text = try #require(file.text)
        let folder = file.path.split(separator: "/").dropLast().map(String.init)
        let headings = Set(file.lines.filter { $0.hasPrefix("#") }.map(Self.anchor))
        for link in text.matches(of: /\]\(([^)\s]+)\)/) {
            let target = link.output.1
            guard !target.hasPrefix("http") else { continue }
            if target.hasPrefix("#") {
                #expect(headings.contains(String(target.dropFirst())), "\(target)")
                continue
            }
            var path = folder
            for part in target.split(separator: "/") {
                if part == ".." { path.removeLast() } else { path.append(String(part)) }
            }
            let whole = path.joined(separator: "/")
            #expect(
                Repository.files.contains { $0.path == whole || $0.path.hasPrefix(whole + "/") },
                "\(target)")
        }
    }
}
