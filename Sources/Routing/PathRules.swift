// Which methods and paths of a route may be asked for. A rule is compared with what goes upstream, so a
// path that two servers could read in two ways is refused before any rule is looked at.

import Bytes
import HTTPWire

/// The compiled `allow` and `deny` of one route.
struct PathRules: Sendable {
    private let allow: [PathRule]
    private let deny: [PathRule]

    /// Nil where there are none.
    init?(allow: [String], deny: [String], route: Int) throws(RouteError) {
        guard !allow.isEmpty || !deny.isEmpty else { return nil }
        self.allow = try Self.compile(allow, route)
        self.deny = try Self.compile(deny, route)
    }

    private static func compile(_ texts: [String], _ route: Int) throws(RouteError) -> [PathRule] {
        var rules: [PathRule] = []
        for text in texts {
            guard let rule = PathRule(text) else {
                throw .ruleInvalid(route: route, rule: text)
            }
            rules.append(rule)
        }
        return rules
    }

    /// - Parameter path: what the route leaves of the path, without the query; where it is empty, "/" is
    ///   what goes upstream.
    func judge(
        _ head: borrowing MessageHead, path: UnsafeRawBufferPointer,
        _ bytes: UnsafeRawBufferPointer
    ) -> AccessRefusal? {
        let method = head.methodBytes.bytes(in: bytes)
        // Servers do read `delete` as DELETE.
        guard !carriesOverride(head, bytes), !method.contains(where: { $0 &- 0x61 < 26 }) else {
            return .methodOrPathNotAllowed
        }
        let count = max(path.count, 1)
        return withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { plain in
            plain[0] = ASCII.slash
            let length = path.isEmpty ? 1 : Self.decode(path, into: plain)
            guard let length else { return .pathAmbiguous }
            let decoded = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(plain)[..<length])
            if deny.contains(where: { $0.covers(method, decoded) }) {
                return .methodOrPathNotAllowed
            }
            if allow.isEmpty || allow.contains(where: { $0.matches(method, decoded) }) {
                return nil
            }
            return .methodOrPathNotAllowed
        }
    }

    /// Fields by which some servers let a request be another than its first line says.
    private static let overrides: [FieldName] = [
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL",
        "X-Rewrite-URL",
    ].compactMap(FieldName.init)

    private func carriesOverride(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        for index in 0..<head.fieldCount where head.fields[index].known == .other {
            for name in Self.overrides where name.matches(head.fields[index], bytes) { return true }
        }
        return false
    }

    /// Decodes once what percent signs stand for. Nil for whatever is not one path to every reader: a
    /// dot segment, an empty segment, a separator that is written in another way or could be one (`%2f`,
    /// `\`, `;`), an encoded percent sign or control byte, a percent sign that encodes nothing, and
    /// UTF-8 that is longer than it need be, with which old decoders spell ASCII (RFC 3629 section 10).
    static func decode(
        _ path: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) -> Int? {
        var count = 0
        var index = 0
        /// Where the segment under way starts in what was decoded.
        var segment = 0
        while index < path.count {
            var byte = path[index]
            index += 1
            if byte == ASCII.percent {
                guard index + 1 < path.count, let high = ASCII.hexValue(path[index]),
                    let low = ASCII.hexValue(path[index + 1])
                else { return nil }
                byte = high &<< 4 | low
                index += 2
                switch byte {
                case 0..<0x20, 0x7F, ASCII.percent, ASCII.dot, ASCII.slash: return nil
                default: break
                }
            } else if byte == ASCII.slash, count > 0 {
                guard isPlainSegment(target, segment..<count) else { return nil }
                segment = count + 1
            } else if byte == ASCII.slash {
                segment = 1
            }
            // A control byte cannot have come here unencoded: the parser refuses it.
            if byte == 0x5C || byte == ASCII.semicolon { return nil }
            if isOverlong(byte, behind: count > 0 ? target[count - 1] : 0) { return nil }
            target[count] = byte
            count += 1
        }
        let isRootOrEndsInSlash = segment == count
        return isRootOrEndsInSlash || isPlainSegment(target, segment..<count) ? count : nil
    }

    /// Whether a byte, with the one before it, begins a character in more bytes than it needs.
    private static func isOverlong(_ byte: UInt8, behind previous: UInt8) -> Bool {
        switch (previous, byte) {
        case (_, 0xC0), (_, 0xC1), (0xE0, 0x80..<0xA0), (0xF0, 0x80..<0x90): true
        default: false
        }
    }

    /// Neither empty, nor "." or "..".
    private static func isPlainSegment(
        _ bytes: UnsafeMutableRawBufferPointer, _ range: Range<Int>
    ) -> Bool {
        switch range.count {
        case 0: false
        case 1: bytes[range.lowerBound] != ASCII.dot
        case 2: bytes[range.lowerBound] != ASCII.dot || bytes[range.lowerBound + 1] != ASCII.dot
        default: true
        }
    }
}

/// `GET /repos/*/issues`: methods, then a path whose segments may hold `*`.
struct PathRule: Sendable {
    /// Empty: every method.
    private let methods: [[UInt8]]
    /// What each segment must look like, decoded; a star is any run of bytes but a slash, and alone it
    /// is at least one.
    private let segments: [[UInt8]]
    /// `**` at the end: anything below.
    private let isOpen: Bool

    private static let star = UInt8(ascii: "*")

    /// `METHOD[,METHOD] /path`; `*` for every method. HEAD goes wherever GET goes, since it asks for
    /// less of the same (RFC 9110 section 9.3.2). Nil for anything else.
    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[1].utf8.first == ASCII.slash else { return nil }
        if words[0] == "*" {
            methods = []
        } else {
            var names = words[0].split(separator: ",", omittingEmptySubsequences: false)
            guard names.allSatisfy(Self.isMethod) else { return nil }
            if names.contains("GET"), !names.contains("HEAD") { names.append("HEAD") }
            methods = names.map { Array($0.utf8) }
        }
        let path = Array(words[1].utf8)
        let decoded = path.withUnsafeBytes { path in
            withUnsafeTemporaryAllocation(byteCount: path.count, alignment: 1) { target in
                PathRules.decode(path, into: target).map { Array(target[..<$0]) }
            }
        }
        guard let decoded, !decoded.contains(ASCII.question), !decoded.contains(0x23) else {
            return nil
        }
        var segments = decoded.dropFirst()
            .split(separator: ASCII.slash, omittingEmptySubsequences: false).map { Array($0) }
        let isOpen = segments.last == [Self.star, Self.star]
        if isOpen { segments.removeLast() }
        // Two stars mean something only as the last segment.
        guard !segments.contains(where: Self.holdsTwoStars) else { return nil }
        self.segments = segments
        self.isOpen = isOpen
    }

    private static func isMethod(_ name: Substring) -> Bool {
        FieldName(String(name)) != nil && name.utf8.allSatisfy { $0 &- 0x61 >= 26 }
            && !name.contains("*")
    }

    private static func holdsTwoStars(_ segment: [UInt8]) -> Bool {
        zip(segment, segment.dropFirst()).contains { $0 == star && $1 == star }
    }

    /// Whether a request is what the rule says, to the letter.
    ///
    /// - Parameter path: decoded and plain, beginning with "/".
    func matches(_ method: UnsafeRawBufferPointer, _ path: UnsafeRawBufferPointer) -> Bool {
        guard let end = match(segments[...], method, path, ignoresCase: false) else { return false }
        return isOpen ? end <= path.count : end == path.count + 1
    }

    /// Whether a server could take a request for what the rule says: one that knows no case, takes `/a/` for
    /// `/a`, or has something at `/a` where the rule says `/a/**`.
    func covers(_ method: UnsafeRawBufferPointer, _ path: UnsafeRawBufferPointer) -> Bool {
        var path = path
        if path.count > 1, path.last == ASCII.slash {
            path = UnsafeRawBufferPointer(rebasing: path.dropLast())
        }
        let endsInSlash = segments.count > 1 && segments.last?.isEmpty == true
        let named = endsInSlash ? segments.dropLast() : segments[...]
        guard let end = match(named, method, path, ignoresCase: true) else { return false }
        return isOpen || end == path.count + 1
    }

    /// Where the part of a path that the segments match ends, its slash included; nil where they do not.
    private func match(
        _ segments: ArraySlice<[UInt8]>, _ method: UnsafeRawBufferPointer,
        _ path: UnsafeRawBufferPointer, ignoresCase: Bool
    ) -> Int? {
        guard methods.isEmpty || methods.contains(where: { $0.elementsEqual(method) }) else {
            return nil
        }
        var start = 1
        for segment in segments {
            guard start <= path.count else { return nil }
            let end = path[start...].firstIndex(of: ASCII.slash) ?? path.count
            let text = UnsafeRawBufferPointer(rebasing: path[start..<end])
            guard Self.matches(segment, text, ignoresCase) else { return nil }
            start = end + 1
        }
        return start
    }

    /// Stars by the usual two marks: the last star and how far it has eaten.
    private static func matches(
        _ pattern: [UInt8], _ text: UnsafeRawBufferPointer, _ ignoresCase: Bool
    ) -> Bool {
        if pattern == [star] { return !text.isEmpty }
        var (index, position) = (0, 0)
        var lastStar: Int?
        var eaten = 0
        while position < text.count {
            if index < pattern.count, pattern[index] == star {
                lastStar = index
                eaten = position
                index += 1
            } else if index < pattern.count,
                pattern[index] == text[position]
                    || ignoresCase
                        && ASCII.lowercased(pattern[index]) == ASCII.lowercased(text[position])
            {
                index += 1
                position += 1
            } else if let lastStar {
                eaten += 1
                position = eaten
                index = lastStar + 1
            } else {
                return false
            }
        }
        return pattern[index...].allSatisfy { $0 == star }
    }
}

extension RouteSpec {
    /// Whether a text is a rule, `METHOD /path`.
    package static func isRule(_ text: String) -> Bool { PathRule(text) != nil }
}
