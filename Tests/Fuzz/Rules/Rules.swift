// Feeds a rule and a path through a route that has rules. A path that gets past them has one reading for every
// server, however it decodes, and that reading is one that the rule matches.

import Bytes
import HTTPWire
import Routing
import Vocabulary

/// The first byte is how long the rule is; behind it comes the target of the request.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard input.count > 2 else { return 0 }
    let split = min(1 + Int(input[0]), input.count)
    let rule = String(decoding: input[1..<split], as: UTF8.self)
    let head = Array("GET ".utf8) + input[split...] + Array(" HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    head.withUnsafeBytes { head in
        if let path = forwarded(head, through: denying) {
            precondition(!isSecret(path), "no spelling leads to what is denied")
        }
        guard RouteSpec.isRule(rule), let table = table(allow: [rule]),
            let path = forwarded(head, through: table)
        else { return }
        precondition(matches(rule, Array(path)), "only what the rule allows")
    }
    return 0
}

private func table(allow: [String] = [], deny: [String] = []) -> RouteTable? {
    guard let upstream = try? UpstreamURL("https://upstream.example/base") else { return nil }
    var spec = RouteSpec(path: "/a", upstream: upstream)
    spec.allow = allow
    spec.deny = deny
    return try? RouteTable([spec])
}
private let denying = table(deny: ["* /secret", "* /secret/**"])!

/// The path behind the base as it goes upstream, or nil where the request is refused.
private func forwarded(_ bytes: UnsafeRawBufferPointer, through table: RouteTable) -> ArraySlice<
    UInt8
>? {
    var parser = HeadParser()
    var head = MessageHead()
    guard (try? parser.request(in: bytes, into: &head)) == .complete, head.length == bytes.count,
        let target = try? head.requestTarget(in: bytes),
        let route = table.match(head, target, bytes),
        case .forward = table.routes[route].plan.judge(head, target, bytes)
    else { return nil }
    var output = ByteBuffer()
    table.routes[route].plan.writeRequest(head, target, bytes, framing: .none, into: &output)
    let line = Array(output.bytes.prefix { $0 != ASCII.carriageReturn })
    guard let space = line.firstIndex(of: ASCII.space),
        let end = line[(space + 1)...].firstIndex(of: ASCII.space)
    else { preconditionFailure("a request line has three parts") }
    let path = line[(space + 1)..<end].prefix { $0 != ASCII.question }
    precondition(path.starts(with: "/base".utf8), "nothing leaves the base")
    return path.dropFirst(5)
}

// MARK: What servers make of a path

/// Whether the most generous of servers would take the path for the denied one: it decodes until
/// nothing is left to decode, overlong UTF-8 included, takes `\` for `/`, cuts parameters, merges slashes
/// and resolves dots.
private func isSecret(_ path: ArraySlice<UInt8>) -> Bool {
    var bytes = Array(path)
    while true {
        let once = overlongResolved(percentDecoded(bytes))
        if once == bytes { break }
        bytes = once
    }
    var segments: [[UInt8]] = []
    for part in bytes.split(whereSeparator: { $0 == ASCII.slash || $0 == 0x5C }) {
        let name = Array(part.prefix { $0 != ASCII.semicolon && $0 != 0 })
        switch name {
        case [], [ASCII.dot]: continue
        case [ASCII.dot, ASCII.dot]: _ = segments.popLast()
        default: segments.append(name)
        }
    }
    return segments.first.map { $0.elementsEqual("secret".utf8) } ?? false
}

private func percentDecoded(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
        if bytes[index] == ASCII.percent, index + 2 < bytes.count,
            let high = ASCII.hexValue(bytes[index + 1]), let low = ASCII.hexValue(bytes[index + 2])
        {
            result.append(high << 4 | low)
            index += 3
        } else {
            result.append(bytes[index])
            index += 1
        }
    }
    return result
}

private func overlongResolved(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    func isTail(_ offset: Int) -> Bool {
        index + offset < bytes.count && bytes[index + offset] >> 6 == 2
    }
    while index < bytes.count {
        let byte = bytes[index]
        if byte & 0xFE == 0xC0, isTail(1) {
            result.append(byte << 6 | bytes[index + 1] & 0x3F)
            index += 2
        } else if byte == 0xE0, isTail(1), bytes[index + 1] & 0x3E == 0, isTail(2) {
            result.append(bytes[index + 1] << 6 | bytes[index + 2] & 0x3F)
            index += 3
        } else if byte == 0xF0, isTail(1), bytes[index + 1] == 0x80, isTail(2), isTail(3),
            bytes[index + 2] & 0x3E == 0
        {
            result.append(bytes[index + 2] << 6 | bytes[index + 3] & 0x3F)
            index += 4
        } else {
            result.append(byte)
            index += 1
        }
    }
    return result
}

// MARK: What a rule means, written down in the simplest way

private func matches(_ rule: String, _ path: [UInt8]) -> Bool {
    guard let space = rule.firstIndex(of: " ") else { return false }
    let methods = rule[..<space].split(separator: ",")
    guard methods == ["*"] || methods.contains("GET") else { return false }
    let pattern = percentDecoded(Array(rule[rule.index(after: space)...].utf8))
    return segmentsMatch(segments(pattern)[...], segments(percentDecoded(path))[...])
}

private func segments(_ path: [UInt8]) -> [[UInt8]] {
    let path = path.isEmpty ? [ASCII.slash] : path
    return path.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: false).map {
        Array($0)
    }
}

private let star = UInt8(ascii: "*")

private func segmentsMatch(_ pattern: ArraySlice<[UInt8]>, _ path: ArraySlice<[UInt8]>) -> Bool {
    guard let first = pattern.first else { return path.isEmpty }
    if first == [star, star], pattern.count == 1 { return !path.isEmpty }
    guard let name = path.first else { return false }
    let fits = first == [star] ? !name.isEmpty : bytesMatch(first[...], name[...])
    return fits && segmentsMatch(pattern.dropFirst(), path.dropFirst())
}

private func bytesMatch(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
    // One row of the table at a time: what ends of the text the pattern so far can reach.
    var reached = Array(repeating: false, count: text.count + 1)
    reached[0] = true
    for byte in pattern {
        var next = Array(repeating: false, count: text.count + 1)
        for (index, wasReached) in reached.enumerated() where wasReached {
            if byte == star {
                for end in index...text.count { next[end] = true }
            } else if index < text.count, text[text.startIndex + index] == byte {
                next[index + 1] = true
            }
        }
        reached = next
    }
    return reached[text.count]
}
