// What the program of `proxy run` finds in its environment: where its APIs are, the key that opens the
// proxy, and none of the secrets that the proxy itself reads from variables.

import Bytes
import Configuration
import Routing

/// The environment of one run.
struct RunEnvironment: Sendable {
    /// Always set: the proxy's own address.
    static let address = "PROXY_URL"

    private(set) var variables: [String: String]

    /// - Parameters:
    ///   - base: where the proxy listens, `http://127.0.0.1:1234`.
    ///   - secret: what callers must show; nil where they need not.
    init(_ own: [String: String], _ settings: Settings, base: String, port: UInt16, secret: String?)
    {
        let hidden = settings.secretVariables
        variables = own.filter { !hidden.contains($0.key) }
        // Of a socket unit; they are not for it.
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { variables[name] = nil }
        variables[Self.address] = base
        for export in settings.exports {
            let spec = settings.routeSpecs[export.route]
            let path = spec.path.last == "/" ? String(spec.path.dropLast()) : spec.path
            let url = (spec.host.map { "http://\($0):\(port)" } ?? base) + path
            for name in export.urls { variables[name] = url }
            for name in export.keys { variables[name] = secret }
        }
        exceptLoopback()
    }

    /// Programs that go through a forward proxy would look for this machine there.
    private mutating func exceptLoopback() {
        let proxies = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        guard proxies.contains(where: { variables[$0]?.isEmpty == false }) else { return }
        let known = variables["no_proxy"] ?? variables["NO_PROXY"] ?? ""
        guard known != "*" else { return }
        let names = ["127.0.0.1", "localhost", ".localhost"]
        let listed = Set(known.split { $0 == "," || $0 == " " }.map(String.init))
        let all = ([known] + names.filter { !listed.contains($0) }).filter { !$0.isEmpty }
            .joined(separator: ",")
        for name in ["no_proxy", "NO_PROXY"] { variables[name] = all }
    }
}
