// Who reaches the pages: the rules of the proxy itself (`AccessGuard`), with the pages' own origin as the
// only one that may send forms, and room for links that lead here from elsewhere.

import Bytes
import HTTPWire
package import LoopbackServer
import Pages
package import Routing

extension HeadGuard {
    /// - Parameters:
    ///   - port: the listener's; nil for a Unix socket, which no web page reaches under any name.
    ///   - allowedHosts: names besides those of loopback.
    package static func admin(
        port: UInt16?, allowedHosts: [HostAndPort], localSecret: LocalSecret?
    ) -> HeadGuard {
        func guarding(_ admitsNavigation: Bool) -> AccessGuard {
            AccessGuard(
                port: port ?? 0, checksHost: port != nil, allowedHosts: allowedHosts,
                allowedOrigins: port.map { ownOrigins($0, allowedHosts) } ?? [],
                localSecret: localSecret, admitsNavigation: admitsNavigation)
        }
        let (pages, others) = (guarding(true), guarding(false))
        let consumed = localSecret.map { LocalSecret.carriers(field: $0.field) } ?? []
        return HeadGuard(consumedFields: consumed + ["Cookie"]) { head, target, bytes in
            let path = target.path.bytes(in: bytes).prefix { $0 != ASCII.question }
            // What links may lead to: pages for people, which change nothing.
            let access = isOne(of: ["/", "/code"], path) ? pages : others
            return switch access.judge(head, target, bytes) {
            case nil: .welcome
            // Health is asked for by what carries no secret, and is told no more than a word.
            case .localSecretRequired? where isOne(of: ["/livez", "/readyz"], path): .stranger
            case let refusal?: .turnedAway(.refusal(refusal))
            }
        }
    }

    private static func isOne(of paths: [String], _ path: Slice<UnsafeRawBufferPointer>) -> Bool {
        paths.contains { $0.utf8.elementsEqual(path) }
    }

    private static func ownOrigins(_ port: UInt16, _ hosts: [HostAndPort]) -> [AllowedOrigin] {
        let names =
            ["localhost", "127.0.0.1", "[::1]"].map { "\($0):\(port)" }
            + hosts.map { host in
                let name = host.host.contains(":") ? "[\(host.host)]" : host.host
                return "\(name):\(host.port ?? String(port))"
            }
        return names.compactMap { AllowedOrigin("http://\($0)") }
    }
}

extension ServerResponse {
    fileprivate static func refusal(_ refusal: AccessRefusal) -> ServerResponse {
        switch refusal {
        case .localSecretRequired:
            return message(
                401, .bad, .person, "The local secret is needed",
                [
                    .text(
                        "This proxy asks callers for a secret. In a browser it is the password; the user "
                            + "name does not matter.")
                ],
                fields: [
                    ServerField(
                        "WWW-Authenticate", "Basic realm=\"Credential Proxy\", charset=\"UTF-8\"")
                ])
        case .hostInvalid:
            return message(
                400, .bad, .cross, "This is no host", [.text("The Host field names none.")])
        case .hostNotAllowed:
            return message(
                421, .bad, .cross, "Not under this name",
                [
                    .text(
                        "This page is at localhost, 127.0.0.1 and [::1] with its own port, and at the names "
                            + "in allowed_hosts of the configuration.")
                ])
        case .methodNotSupported:
            return message(
                405, .bad, .cross, "Not possible", [.text("This method is never taken.")])
        case .originNotAllowed, .crossSite, .requiredFieldMissing, .clientCredentialRefused,
            .upgradeNotAllowed, .methodOrPathNotAllowed, .pathAmbiguous, .pathLeavesRoute:
            return message(
                403, .bad, .cross, "Another page asked",
                [
                    .text(
                        "A page of another site tried to use this proxy's status page. Nothing was done. "
                            + "Open the status page by its address instead.")
                ])
        }
    }

    static func message(
        _ status: Int, _ tone: Tone, _ icon: Icon, _ heading: String, _ parts: [MessagePage.Part],
        fields: [ServerField] = []
    ) -> ServerResponse {
        ServerResponse(
            status: status, page: MessagePage(tone, icon, heading, parts).page, fields: fields)
    }
}
