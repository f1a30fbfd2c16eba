// Swift source split into code and comments, as far as laws about words and lines need it. It is no
// parser: it knows comments, string literals and where lines end.

import Support

/// One file. Both halves have the lines and columns of the original, with blanks for the other half.
struct SwiftText {
    /// Without comments and without what stands inside string literals.
    let code: [Substring]
    /// Only the comments.
    let comments: [Substring]

    init(_ text: String) {
        var splitter = Splitter(text)
        splitter.run()
        code = Self.lines(of: splitter.code)
        comments = Self.lines(of: splitter.comments)
    }

    private static func lines(of bytes: [UInt8]) -> [Substring] {
        String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The modules that the file imports, whatever the access level.
    var imports: [String] {
        code.filter { $0.contains("import ") }.compactMap { line in
            line.firstMatch(of: /^\s*(?:@\w+\s+)*(?:\w+\s+)?import\s+(?:\w+\s+)?(\w+)/).map {
                String($0.output.1)
            }
        }
    }
}

extension ProjectFile {
    /// Split once, however many laws look at it.
    var split: SwiftText {
        get async { await Self.texts.value[path] ?? SwiftText(text ?? "") }
    }

    /// Made on a thread of its own: the ones that all tests share would stand still for seconds.
    private static let texts = Task {
        await withCheckedContinuation { done in
            OwnThread.start {
                let pairs = Repository.swift.map { ($0.path, SwiftText($0.text ?? "")) }
                done.resume(returning: Dictionary(uniqueKeysWithValues: pairs))
            }
        }
    }
}

/// Walks the bytes once. What an interpolation holds is code again.
private struct Splitter {
    private let text: [UInt8]
    private var position = 0
    fileprivate var code: [UInt8] = []
    fileprivate var comments: [UInt8] = []

    init(_ source: String) {
        text = Array(source.utf8)
        code.reserveCapacity(text.count)
        comments.reserveCapacity(text.count)
    }

    mutating func run() {
        while position < text.count {
            switch text[position] {
            case Byte.slash where next == Byte.slash:
                while position < text.count && text[position] != Byte.lineFeed { keepAsComment() }
            case Byte.slash where next == Byte.star: blockComment()
            case Byte.quote, Byte.hash: if !literal() { keepAsCode() }
            default: keepAsCode()
            }
        }
    }

    private var next: UInt8? { position + 1 < text.count ? text[position + 1] : nil }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if text[position] == Byte.slash && next == Byte.star {
                depth += 1
                keepAsComment()
            } else if text[position] == Byte.star && next == Byte.slash {
                depth -= 1
                keepAsComment()
            }
            keepAsComment()
        } while depth > 0 && position < text.count
    }

    /// Passes over a literal that starts here; false where none does.
    private mutating func literal() -> Bool {
        var hashes = 0
        while position + hashes < text.count && text[position + hashes] == Byte.hash { hashes += 1 }
        let quotes = quotes(at: position + hashes)
        guard quotes > 0 else { return false }
        drop(hashes + quotes)
        while position < text.count {
            if text[position] == Byte.quote && closes(quotes: quotes, hashes: hashes) {
                drop(quotes + hashes)
                return true
            }
            if text[position] == Byte.backslash && run(of: Byte.hash, at: position + 1) >= hashes {
                drop(1 + hashes)
                if position < text.count && text[position] == Byte.open {
                    interpolation()
                    continue
                }
            }
            drop(1)
        }
        return true
    }

    /// An expression inside a literal, which may hold literals of its own.
    private mutating func interpolation() {
        var depth = 0
        repeat {
            switch text[position] {
            case Byte.quote, Byte.hash:
                if literal() { continue }
            case Byte.open: depth += 1
            case Byte.close: depth -= 1
            default: break
            }
            keepAsCode()
        } while depth > 0 && position < text.count
    }

    private func quotes(at index: Int) -> Int {
        switch run(of: Byte.quote, at: index) {
        case 0: 0
        case 1, 2: 1
        default: 3
        }
    }

    private func closes(quotes: Int, hashes: Int) -> Bool {
        run(of: Byte.quote, at: position) >= quotes
            && run(of: Byte.hash, at: position + quotes) >= hashes
    }

    private func run(of byte: UInt8, at index: Int) -> Int {
        var end = index
        while end < text.count && text[end] == byte { end += 1 }
        return end - index
    }

    private mutating func keepAsCode() { keep(inCode: true, inComments: false) }
    private mutating func keepAsComment() { keep(inCode: false, inComments: true) }
    private mutating func drop(_ count: Int) {
        for _ in 0..<count { keep(inCode: false, inComments: false) }
    }

    private mutating func keep(inCode: Bool, inComments: Bool) {
        guard position < text.count else { return }
        let byte = text[position]
        let blank = byte == Byte.lineFeed ? byte : Byte.space
        code.append(inCode ? byte : blank)
        comments.append(inComments ? byte : blank)
        position += 1
    }
}

private enum Byte {
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let slash = UInt8(ascii: "/")
    static let star = UInt8(ascii: "*")
    static let quote = UInt8(ascii: "\"")
    static let hash = UInt8(ascii: "#")
    static let backslash = UInt8(ascii: "\\")
    static let open = UInt8(ascii: "(")
    static let close = UInt8(ascii: ")")
}
