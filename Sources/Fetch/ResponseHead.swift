// The head of a response from libcurl's header lines. libcurl gives interim heads, the final one and
// trailers through one callback; only the final head counts here.

import Vocabulary

/// Collects lines until the head of the final response is whole.
struct ResponseHead {
    enum Fault: Error {
        /// No status line of HTTP, or a status that a final response cannot have.
        case notHTTP
        case tooLarge
    }

    /// Limits of our own, below libcurl's.
    static let bytesMax = 64 * 1024
    static let fieldsMax = 256

    private(set) var status = 0
    private(set) var fields: [(name: String, value: String)] = []
    /// What comes after this are trailers.
    private(set) var isWhole = false
    private var bytes = 0

    /// Whether a coding is named that nobody can undo (RFC 9110 section 8.4.1).
    var hasUnknownEncoding: Bool {
        let known: Set = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity", "none"]
        return fields.contains { name, value in
            name.lowercased() == "content-encoding"
                && value.lowercased().split(whereSeparator: { ", \t".contains($0) })
                    .contains { !known.contains(String($0)) }
        }
    }

    /// One line with its end.
    mutating func take(_ line: UnsafeRawBufferPointer) throws(Fault) {
        if isWhole { return }
        bytes += line.count
        guard bytes <= ResponseHead.bytesMax else { throw .tooLarge }
        var text = line[...]
        while let last = text.last, last == 0x0A || last == 0x0D { text = text.dropLast() }
        if text.starts(with: "HTTP/".utf8) {
            status = try ResponseHead.status(text)
            fields = []
        } else if text.isEmpty {
            // An interim response; its successor begins with a status line of its own.
            if 100...199 ~= status, status != 101 { return }
            guard status >= 200 else { throw .notHTTP }
            isWhole = true
        } else {
            try takeField(text)
        }
    }

    private mutating func takeField(_ text: Slice<UnsafeRawBufferPointer>) throws(Fault) {
        guard let first = text.first else { return }
        if isBlank(first) {
            // A folded line belongs to the value before it (RFC 9112 section 5.2).
            guard let last = fields.indices.last else { throw .notHTTP }
            fields[last].value += " " + decoded(text)
            return
        }
        guard let colon = text.firstIndex(of: 0x3A), colon > text.startIndex else {
            throw .notHTTP
        }
        guard fields.count < ResponseHead.fieldsMax else { throw .tooLarge }
        fields.append(
            (decoded(text[..<colon]), decoded(text[text.index(after: colon)...])))
    }

    /// `HTTP/1.1 200 …`; the reason phrase and the space before it may be missing.
    private static func status(_ line: Slice<UnsafeRawBufferPointer>) throws(Fault) -> Int {
        guard let space = line.firstIndex(of: 0x20) else { throw .notHTTP }
        let rest = line[line.index(after: space)...]
        let digits = rest.prefix { $0 &- 0x30 < 10 }
        let end = digits.endIndex
        guard digits.count == 3, end == rest.endIndex || rest[end] == 0x20 else { throw .notHTTP }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard 100...599 ~= status else { throw .notHTTP }
        return status
    }

    private func decoded(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes = bytes.dropFirst() }
        while let last = bytes.last, isBlank(last) { bytes = bytes.dropLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
