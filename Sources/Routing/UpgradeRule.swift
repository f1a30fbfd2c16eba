// Which protocols a connection may change to on a route (RFC 9110 section 7.8). It names no protocol
// of its own: what is not listed is refused, or ignored where the client can do without.

import Bytes
package import HTTPWire

/// What becomes of a request that asks for another protocol.
package enum UpgradeVerdict: Hashable, Sendable {
    /// It asks for none, or only for one that it can do without.
    case none
    /// The protocol to ask the upstream for, as the client wrote it.
    case pass(ByteRange)
    /// It asks for one that the route does not pass on, and cannot mean anything without.
    case refuse
}

struct UpgradeRule: Sendable {
    /// What a route passes on unless it says otherwise (RFC 6455 section 4.1).
    static let standard = ["websocket"]

    /// In lower case.
    private let allowed: [[UInt8]]

    /// Nil when a name is no protocol (`token [ "/" token ]`), or is another way to speak HTTP: behind
    /// h2c or TLS more requests could follow that no rule has seen.
    init?(_ names: [String]) {
        var allowed: [[UInt8]] = []
        for name in names {
            let bytes = name.utf8.map(ASCII.lowercased)
            let parts = name.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2, parts.allSatisfy({ FieldName(String($0)) != nil }),
                !bytes.withUnsafeBytes(Self.speaksHTTP)
            else { return nil }
            allowed.append(bytes)
        }
        self.allowed = allowed
    }

    /// Only a request with both fields asks (RFC 9110 section 7.8), and none of HTTP/1.0 does. The first
    /// protocol that may be passed on is the one that is.
    func judge(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> UpgradeVerdict {
        guard head.present.contains(.upgrade), head.connection.contains(.upgrade),
            head.minorVersion > 0
        else { return .none }
        var isNeeded = false
        for index in 0..<head.fieldCount where head.fields[index].known == .upgrade {
            let value = head.fields[index].value
            let text = value.bytes(in: bytes)
            var start = 0
            while start <= text.count {
                let end = text[start...].firstIndex(of: ASCII.comma) ?? text.count
                let name = Self.trimmed(text, start..<end)
                start = end + 1
                if name.isEmpty { continue }
                let protocolName = UnsafeRawBufferPointer(rebasing: text[name])
                if allows(protocolName) {
                    let offset = Int(value.start)
                    return .pass(
                        ByteRange(
                            start: offset + name.lowerBound, end: offset + name.upperBound))
                }
                if !Self.speaksHTTP(protocolName) { isNeeded = true }
            }
        }
        return isNeeded ? .refuse : .none
    }

    private func allows(_ name: UnsafeRawBufferPointer) -> Bool {
        allowed.contains { allowed in
            allowed.withUnsafeBytes { ASCII.equalsIgnoringCase($0, name) }
        }
    }

    /// `h2c`, `HTTP/2.0`, `TLS/1.2`: offers to say the same in another way, which clients make without
    /// being asked and do without (RFC 9113 section 3.1; RFC 2817).
    private static func speaksHTTP(_ name: UnsafeRawBufferPointer) -> Bool {
        if ASCII.equalsIgnoringCase(name, "h2c") || ASCII.equalsIgnoringCase(name, "h2") {
            return true
        }
        let slash = name.firstIndex(of: ASCII.slash) ?? name.count
        let base = UnsafeRawBufferPointer(rebasing: name[..<slash])
        return ASCII.equalsIgnoringCase(base, "http") || ASCII.equalsIgnoringCase(base, "tls")
    }

    private static func trimmed(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, text[start] == ASCII.space || text[start] == ASCII.tab { start += 1 }
        while end > start, text[end - 1] == ASCII.space || text[end - 1] == ASCII.tab { end -= 1 }
        return start..<end
    }
}

extension RouteSpec {
    /// Whether a connection may be allowed to change to a protocol of that name.
    package static func isUpgrade(_ name: String) -> Bool { UpgradeRule([name]) != nil }
}
