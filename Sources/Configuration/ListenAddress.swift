// An address to listen on. Names are not looked up: what they resolve to may change, and with it who
// can reach us.

import Routing
import Vocabulary

/// An address literal and a port.
package struct ListenAddress: Hashable, Sendable {
    /// IPv6 without brackets.
    package let host: String
    /// 0: the kernel chooses.
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package static let standard = [
        ListenAddress(host: "127.0.0.1", port: 8080), ListenAddress(host: "::1", port: 8080),
    ]

    package var isLoopback: Bool { Origin(scheme: .http, host: host, port: port).isLoopback }

    /// Every address of the machine.
    var isWildcard: Bool { host == "0.0.0.0" || host == "::" }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension ListenAddress {
    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `8080`; the last two mean both
    /// loopback addresses.
    static func read(_ text: Located<String>, _ problems: ProblemList) -> [ListenAddress] {
        let isPort = text.value.utf8.allSatisfy { $0 &- 0x30 < 10 }
        let parts = HostAndPort(isPort ? "localhost:\(text.value)" : text.value)
        guard let parts else {
            problems.add(
                text.place, "\(quoted(text.value)) is no address to listen on",
                hint: text.value.hasPrefix(":") && !text.value.hasPrefix("::")
                    ? "for every address of the machine write 0.0.0.0\(text.value)"
                    : "write it like 127.0.0.1:8080 or [::1]:8080")
            return []
        }
        let host = parts.host
        guard let digits = parts.port, let port = UInt16(digits) else {
            problems.add(
                text.place,
                parts.port.map { "\(quoted($0)) is no port" }
                    ?? "\(quoted(text.value)) has no port",
                hint: "write it like 127.0.0.1:8080")
            return []
        }
        if host == "localhost" {
            return ["127.0.0.1", "::1"].map { ListenAddress(host: $0, port: port) }
        }
        let isLiteral = host.contains(":") || host.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 == 0x2E }
        guard isLiteral else {
            problems.add(
                text.place, "\(quoted(host)) is a name, and only addresses can be listened on",
                hint: "write the address itself, such as 127.0.0.1:\(port)")
            return []
        }
        return [ListenAddress(host: host, port: port)]
    }
}
