// What a head says about its connection: whether it goes on, and which fields end here
// (RFC 9110 section 7.6.1; RFC 9112 section 9.3).

import Bytes

extension MessageHead {
    /// The options of all Connection fields together; nobody needs more than a few.
    package static let connectionOptionsMax = 64

    /// Whether the connection may carry another message after this one. It says nothing of the
    /// body: one that runs until the close ends the connection all the same.
    ///
    /// A message with both Content-Length and Transfer-Encoding ends it as well: somebody on the way
    /// may have read it differently (RFC 9112 section 6.3).
    @inlinable
    package var persists: Bool {
        if connection.contains(.close) { return false }
        if present.contains(.transferEncoding) && present.contains(.contentLength) { return false }
        return minorVersion > 0 || connection.contains(.keepAlive)
    }

    /// Whether the client waits for a 100 before it sends the body (RFC 9110 section 10.1.1). A
    /// client of HTTP/1.0 never does.
    package func expectsContinue(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard minorVersion > 0, let value = value(of: .expect, in: bytes) else { return false }
        return ASCII.equalsIgnoringCase(value, "100-continue")
    }

    /// Reads all Connection fields and marks the fields that they name.
    mutating func readConnectionOptions(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
        var count = 0
        for index in 0..<fieldCount where fields[index].known == .connection {
            var rest = ListElements(fields[index].value.bytes(in: bytes))
            while let option = rest.next() {
                count += 1
                guard count <= Self.connectionOptionsMax else {
                    throw .tooManyConnectionOptions(limit: Self.connectionOptionsMax)
                }
                if ASCII.equalsIgnoringCase(option, "close") {
                    connection.insert(.close)
                } else if ASCII.equalsIgnoringCase(option, "keep-alive") {
                    connection.insert(.keepAlive)
                } else {
                    if ASCII.equalsIgnoringCase(option, "upgrade") { connection.insert(.upgrade) }
                    markFields(named: option, bytes)
                }
            }
        }
    }

    private func markFields(named name: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) {
        for index in 0..<fieldCount where Int(fields[index].name.count) == name.count {
            if ASCII.equalsIgnoringCase(fields[index].name.bytes(in: bytes), name) {
                fields[index].isNamedByConnection = true
            }
        }
    }
}

/// The elements of a comma-separated list without quoted strings (RFC 9110 section 5.6.1); empty ones
/// are left out.
struct ListElements {
    private var rest: UnsafeRawBufferPointer

    init(_ value: UnsafeRawBufferPointer) { rest = value }

    /// The next element, without the white space around it.
    mutating func next() -> UnsafeRawBufferPointer? {
        while !rest.isEmpty {
            let end = rest.firstIndex(of: ASCII.comma) ?? rest.count
            var first = 0
            var last = end
            while first < last && FieldLine.isWhiteSpace(rest[first]) { first += 1 }
            while last > first && FieldLine.isWhiteSpace(rest[last - 1]) { last -= 1 }
            let element = UnsafeRawBufferPointer(rebasing: rest[first..<last])
            rest = UnsafeRawBufferPointer(rebasing: rest[min(end + 1, rest.count)...])
            if !element.isEmpty { return element }
        }
        return nil
    }
}
