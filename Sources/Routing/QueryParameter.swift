// A credential that goes upstream as a query parameter: the client's own parameters of that name are left
// out of the target, and the credential is put behind the rest when the request is sent. Every other
// byte of a query stays as it came.

import Bytes

struct QueryParameter: Sendable {
    /// The name, decoded.
    private let name: [UInt8]

    /// Nil for an empty name.
    init?(_ name: String) {
        guard !name.isEmpty else { return nil }
        self.name = Array(name.utf8)
    }

    /// Whether a query, without its question mark, has the parameter.
    func occurs(in query: UnsafeRawBufferPointer) -> Bool {
        var rest = query
        while let part = Self.next(&rest) { if isNamed(part) { return true } }
        return false
    }

    /// Writes `?query` without the parameter; nothing where nothing is left but was there before.
    func write(_ query: UnsafeRawBufferPointer, into output: inout ByteBuffer) {
        write(query, without: isNamed, into: &output)
    }

    private func write(
        _ query: UnsafeRawBufferPointer, without isUnwanted: (UnsafeRawBufferPointer) -> Bool,
        into output: inout ByteBuffer
    ) {
        var search = query
        var occurs = false
        while !occurs, let part = Self.next(&search) { occurs = isUnwanted(part) }
        guard occurs else {
            output.append(ASCII.question)
            output.append(query)
            return
        }
        var rest = query
        var isFirst = true
        while let part = Self.next(&rest) {
            if isUnwanted(part) { continue }
            output.append(isFirst ? ASCII.question : UInt8(ascii: "&"))
            output.append(part)
            isFirst = false
        }
    }

    /// Writes a value that has one URL or several, `</a?x>; rel="next"`, without the parameter in any of them, and
    /// without parameters that hold a URL which has it, as the address to return to behind a login does.
    func write(urlsIn value: UnsafeRawBufferPointer, into output: inout ByteBuffer) {
        var rest = value[...]
        while let question = rest.firstIndex(of: ASCII.question) {
            output.append(UnsafeRawBufferPointer(rebasing: rest[..<question]))
            let query = rest[(question + 1)...]
            let end = query.firstIndex(where: Self.endsQuery) ?? value.count
            write(
                UnsafeRawBufferPointer(rebasing: query[..<end]),
                without: { isNamed($0) || isInside($0) }, into: &output)
            rest = value[end...]
        }
        output.append(UnsafeRawBufferPointer(rebasing: rest))
    }

    /// Whether a part's value, encoded once or twice, is a URL that has the parameter.
    private func isInside(_ part: UnsafeRawBufferPointer) -> Bool {
        guard let equals = part.firstIndex(of: ASCII.equals) else { return false }
        var text = Array(part[(equals + 1)...])
        for _ in 0..<2 {
            text = Self.decoded(text)
            let starts = text.indices.filter {
                text[$0] == ASCII.question || text[$0] == UInt8(ascii: "&")
            }
            let isFound = text.withUnsafeBytes { bytes in
                starts.contains { isNamed(UnsafeRawBufferPointer(rebasing: bytes[($0 + 1)...])) }
            }
            if isFound { return true }
        }
        return false
    }

    /// Percent-decoded; what is no escape stays.
    private static func decoded(_ text: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == ASCII.percent, index + 2 < text.count,
                let high = ASCII.hexValue(text[index + 1]),
                let low = ASCII.hexValue(text[index + 2])
            {
                decoded.append(high &<< 4 | low)
                index += 3
            } else {
                decoded.append(text[index])
                index += 1
            }
        }
        return decoded
    }

    /// A fragment, and what no URL holds (RFC 3986 appendix C).
    private static func endsQuery(_ byte: UInt8) -> Bool {
        byte == 0x23 || byte == UInt8(ascii: ">") || byte == ASCII.quote || byte == ASCII.space
    }

    /// What stands between the target so far and the parameter.
    static func separator(behind target: UnsafeRawBufferPointer) -> UInt8? {
        guard let question = target.firstIndex(of: ASCII.question) else { return ASCII.question }
        return question == target.count - 1 || target.last == UInt8(ascii: "&")
            ? nil : UInt8(ascii: "&")
    }

    /// Takes the next part up to an ampersand (URL standard, section 5.1).
    private static func next(_ rest: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard rest.baseAddress != nil else { return nil }
        guard let end = rest.firstIndex(of: UInt8(ascii: "&")) else {
            defer { rest = UnsafeRawBufferPointer(start: nil, count: 0) }
            return rest
        }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...]) }
        return UnsafeRawBufferPointer(rebasing: rest[..<end])
    }

    /// Compares the name as a server would read it, `%XX` decoded and `+` as a space.
    private func isNamed(_ part: UnsafeRawBufferPointer) -> Bool {
        let end = part.firstIndex(of: ASCII.equals) ?? part.count
        var index = 0
        var count = 0
        while index < end {
            var byte = part[index]
            index += 1
            if byte == ASCII.plus {
                byte = ASCII.space
            } else if byte == ASCII.percent, index + 1 < end,
                let high = ASCII.hexValue(part[index]), let low = ASCII.hexValue(part[index + 1])
            {
                byte = high &<< 4 | low
                index += 2
            }
            guard count < name.count, name[count] == byte else { return false }
            count += 1
        }
        return count == name.count
    }
}
