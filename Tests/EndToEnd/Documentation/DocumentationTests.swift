// Every block of the documentation is tried: commands are typed in the order in which they stand,
// configurations are loaded and then used by the commands below them.

import Support
import Testing

@Suite(.ownThread) struct `Documentation` {
    /// A section that has blocks.
    struct Section: Sendable, CustomTestStringConvertible {
        let document: String
        let name: String
        let blocks: [DocumentBlock]

        var testDescription: String { "\(document): \(name)" }
    }

    static let sections: [Section] = ["README.md", "ARCHITECTURE.md"].flatMap { document in
        var sections: [Section] = []
        for block in Document.blocks(of: document) {
            if sections.last?.name == block.section, let last = sections.popLast() {
                sections.append(
                    Section(
                        document: document, name: block.section, blocks: last.blocks + [block]))
            } else {
                sections.append(Section(document: document, name: block.section, blocks: [block]))
            }
        }
        return sections
    }

    /// What a section starts from that shows no configuration of its own: the README's first.
    private static let first = sections.flatMap(\.blocks).first { $0.language == "yaml" }

    @Test func `has blocks to try`() {
        #expect(Self.sections.count >= 12)
        #expect(Self.first?.text.first == "upstream: https://api.example.com")
    }

    @Test(arguments: sections)
    func `does what it says`(section: Section) throws {
        let world = try DocumentWorld()
        let makesItsOwn = section.blocks.contains { block in
            block.language == "yaml" || block.text.contains { $0 == "proxy init github" }
        }
        if !makesItsOwn, let first = Self.first { try world.configure(first.text) }
        for block in section.blocks {
            switch block.language {
            case "yaml": try world.configure(block.text)
            case "sh": try world.type(block)
            default: Issue.record("line \(block.line): no rule for \"\(block.language)\"")
            }
        }
        #expect(world.provider.faults == [])
    }
}
