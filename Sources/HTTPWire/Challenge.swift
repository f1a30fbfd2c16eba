// Reads the challenges of WWW-Authenticate and Proxy-Authenticate (RFC 9110 section 11.6.1), a list of
// lists with one kind of comma. Only refused requests come here, so it may allocate.

import Bytes

/// One challenge of a server that wants a credential, or another one.
package struct Challenge: Hashable, Sendable {
    package struct Parameter: Hashable, Sendable {
        /// In lower case.
        package var name: String
        /// Without quotes; bytes that are no UTF-8 became U+FFFD. A stranger wrote it.
        package var value: String
    }

    /// In lower case: `bearer`, `dpop`, `basic`.
    package var scheme: String
    /// The one blob that some schemes have in place of parameters, as in `Negotiate YII=`.
    package var token68: String?
    package var parameters: [Parameter]

    /// The value of the first parameter of that name, which is given in lower case.
    package func parameter(_ name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }
}

extension MessageHead {
    /// The challenges of all fields of that kind, in order. Of one that cannot be read to its end the beginning
    /// counts, since its scheme says that it was there; the rest is passed over, up to the next comma, where
    /// anything else can be.
    package func challenges(
        in bytes: UnsafeRawBufferPointer, of known: KnownField = .wwwAuthenticate
    ) throws(WireError) -> [Challenge] {
        var challenges: [Challenge] = []
        var hasUnreadable = false
        for index in 0..<fieldCount where fields[index].known == known {
            var reader = ChallengeReader(fields[index].value.bytes(in: bytes))
            while !reader.isAtEnd {
                do throws(WireError) {
                    guard let challenge = try reader.next() else { break }
                    guard challenges.count < ChallengeReader.partsMax else {
                        throw .tooManyChallengeParts(limit: ChallengeReader.partsMax)
                    }
                    challenges.append(challenge)
                } catch .invalidChallenge {
                    if let challenge = reader.takeUnfinished() {
                        challenges.append(challenge)
                    } else {
                        hasUnreadable = true
                    }
                    reader.skipToComma()
                }
            }
        }
        if challenges.isEmpty && hasUnreadable { throw .invalidChallenge }
        return challenges
    }
}

/// Reads the challenges of one field value. It forgives what servers get wrong without becoming
/// ambiguous: a missing comma between parameters, and an unquoted value that is no token, such as a
/// URL.
package struct ChallengeReader {
    /// Challenges of a head, and parameters of a challenge.
    package static let partsMax = 64

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private var unfinished: Challenge?

    /// The bytes must outlive the reader.
    package init(_ value: UnsafeRawBufferPointer) { bytes = value }

    package var isAtEnd: Bool { offset >= bytes.count }

    /// After an error: goes behind the next comma, wherever that stands.
    package mutating func skipToComma() {
        while offset < bytes.count, bytes[offset] != ASCII.comma { offset += 1 }
        if offset < bytes.count { offset += 1 }
    }

    /// The next challenge, or nil behind the last. After an error only `skipToComma` helps.
    package mutating func next() throws(WireError) -> Challenge? {
        _ = skipCommas()
        guard offset < bytes.count else { return nil }
        let scheme = lowercased(try token())
        var challenge = Challenge(scheme: scheme, token68: nil, parameters: [])
        if atListEnd() { return challenge }
        guard skipWhiteSpace() > 0 else { throw .invalidChallenge }
        if let blob = token68() {
            challenge.token68 = blob
            return challenge
        }
        do throws(WireError) {
            try readParameters(into: &challenge)
        } catch {
            unfinished = challenge
            throw error
        }
        return challenge
    }

    /// What could be read of the challenge that the last error stands in, if its scheme could.
    mutating func takeUnfinished() -> Challenge? {
        defer { unfinished = nil }
        return unfinished
    }

    /// Reads up to the end of the value or to the scheme of the next challenge.
    private mutating func readParameters(into challenge: inout Challenge) throws(WireError) {
        while true {
            let isFirst = challenge.parameters.isEmpty
            let isSeparated = skipCommas()
            guard offset < bytes.count else { return }
            let start = offset
            let name = lowercased(try token())
            skipWhiteSpace()
            guard offset < bytes.count, bytes[offset] == ASCII.equals else {
                // A word without a value can only be a scheme, and only behind a comma.
                guard isSeparated else { throw .invalidChallenge }
                offset = start
                return
            }
            offset += 1
            guard isFirst || isSeparated || FieldLine.isWhiteSpace(bytes[start - 1]),
                challenge.parameters.count < Self.partsMax
            else {
                throw challenge.parameters.count < Self.partsMax
                    ? .invalidChallenge : .tooManyChallengeParts(limit: Self.partsMax)
            }
            skipWhiteSpace()
            challenge.parameters.append(.init(name: name, value: try value()))
        }
    }

    private mutating func value() throws(WireError) -> String {
        if offset < bytes.count && bytes[offset] == ASCII.quote { return try quotedString() }
        let start = offset
        while offset < bytes.count, bytes[offset] != ASCII.comma,
            !FieldLine.isWhiteSpace(bytes[offset])
        {
            guard bytes[offset] > 0x20, bytes[offset] != 0x7F, bytes[offset] != ASCII.quote else {
                throw .invalidChallenge
            }
            offset += 1
        }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func quotedString() throws(WireError) -> String {
        var text: [UInt8] = []
        offset += 1
        while offset < bytes.count {
            var byte = bytes[offset]
            offset += 1
            if byte == ASCII.quote { return String(decoding: text, as: UTF8.self) }
            if byte == 0x5C {
                guard offset < bytes.count else { break }
                byte = bytes[offset]
                offset += 1
            }
            guard byte >= 0x20 && byte != 0x7F || byte == ASCII.tab else { break }
            text.append(byte)
        }
        throw .invalidChallenge
    }

    /// A blob, when one stands here and nothing follows it in its challenge; else nothing is read.
    private mutating func token68() -> String? {
        let start = offset
        while offset < bytes.count && Self.isToken68Byte(bytes[offset]) { offset += 1 }
        if offset > start {
            while offset < bytes.count && bytes[offset] == ASCII.equals { offset += 1 }
            let end = offset
            if atListEnd() { return String(decoding: bytes[start..<end], as: UTF8.self) }
        }
        offset = start
        return nil
    }

    private mutating func token() throws(WireError) -> Slice<UnsafeRawBufferPointer> {
        let start = offset
        while offset < bytes.count && FieldLine.isTokenByte(bytes[offset]) { offset += 1 }
        guard offset > start else { throw .invalidChallenge }
        return bytes[start..<offset]
    }

    /// Whether only white space stands before the next comma or the end; reads neither.
    private func atListEnd() -> Bool {
        var ahead = offset
        while ahead < bytes.count && FieldLine.isWhiteSpace(bytes[ahead]) { ahead += 1 }
        return ahead == bytes.count || bytes[ahead] == ASCII.comma
    }

    @discardableResult
    private mutating func skipWhiteSpace() -> Int {
        let start = offset
        while offset < bytes.count && FieldLine.isWhiteSpace(bytes[offset]) { offset += 1 }
        return offset - start
    }

    /// Skips commas and white space; true when there was a comma.
    private mutating func skipCommas() -> Bool {
        var hasComma = false
        while offset < bytes.count {
            if bytes[offset] == ASCII.comma {
                hasComma = true
            } else if !FieldLine.isWhiteSpace(bytes[offset]) {
                break
            }
            offset += 1
        }
        return hasComma
    }

    private func lowercased(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes.map(ASCII.lowercased), as: UTF8.self)
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte) || ASCII.lowercased(byte) &- 0x61 < 26 || byte == ASCII.hyphen
            || byte == ASCII.dot || byte == 0x5F || byte == 0x7E || byte == ASCII.plus
            || byte == ASCII.slash
    }
}
