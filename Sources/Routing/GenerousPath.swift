// A path as the most generous of servers would read it. Rules that must hold at any server are judged on this
// reading; what goes upstream is never touched by it.

import Bytes

enum GenerousPath {
    /// Decodes until nothing is left to decode, characters in more bytes than they need (RFC 3629 section
    /// 10) included. A separator that was encoded becomes `\`, which is one to some servers, too, so that it
    /// stays apart from "/", which is one to all.
    ///
    /// - Parameter target: has room for the whole path.
    /// - Returns: how many bytes were written.
    static func decode(
        _ path: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) -> Int {
        var count = 0
        for byte in path {
            target[count] = byte
            count += 1
            // What was decoded may be the end of something that can be decoded.
            while let (length, decoded) = encodedEnd(of: target, count) {
                count -= length - 1
                target[count - 1] = decoded == ASCII.slash ? backslash : decoded
            }
        }
        return count
    }

    static let backslash = UInt8(ascii: "\\")

    static func isSeparator(_ byte: UInt8) -> Bool { byte == ASCII.slash || byte == backslash }

    /// Whether a segment's name ends here, to servers that cut parameters or read up to a NUL.
    static func endsName(_ byte: UInt8) -> Bool { byte == ASCII.semicolon || byte == 0 }

    /// What the last bytes encode, and how many they are.
    private static func encodedEnd(
        of text: UnsafeMutableRawBufferPointer, _ count: Int
    ) -> (length: Int, byte: UInt8)? {
        guard count >= 2 else { return nil }
        let last = text[count - 1]
        if count >= 3, text[count - 3] == ASCII.percent, let low = ASCII.hexValue(last),
            let high = ASCII.hexValue(text[count - 2])
        {
            return (3, high &<< 4 | low)
        }
        guard last & 0xC0 == 0x80 else { return nil }
        let second = text[count - 2]
        if second & 0xFE == 0xC0 { return (2, second &<< 6 | last & 0x3F) }
        // Of the longer forms only those that spell ASCII.
        guard second & 0xFE == 0x80, count >= 3 else { return nil }
        let isLong = text[count - 3] == 0xE0
        let isLonger = count >= 4 && text[count - 3] == 0x80 && text[count - 4] == 0xF0
        guard isLong || isLonger else { return nil }
        return (isLong ? 3 : 4, second &<< 6 | last & 0x3F)
    }
}
