// The fenced blocks of a document, by the section in which they stand.

import Support

/// One block.
struct DocumentBlock: Sendable {
    /// The heading above it, without its marks.
    let section: String
    /// Of the fence, counted from 1.
    let line: Int
    /// What stands behind the fence.
    let language: String
    var text: [String] = []
}

enum Document {
    static let folder = #filePath.components(separatedBy: "/").dropLast(4).joined(separator: "/")

    /// A document at the top of the repository.
    static func blocks(of name: String) -> [DocumentBlock] {
        guard let text = (try? Files.read("\(folder)/\(name)"))?.text else { return [] }
        var blocks: [DocumentBlock] = []
        var section = ""
        var isInside = false
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") {
                if !isInside {
                    blocks.append(
                        DocumentBlock(
                            section: section, line: index + 1, language: String(line.dropFirst(3))))
                }
                isInside.toggle()
            } else if isInside {
                blocks[blocks.count - 1].text.append(line)
            } else if line.hasPrefix("#") {
                section = String(line.drop { $0 == "#" || $0 == " " })
            }
        }
        return blocks
    }
}
