// A real provider that nobody here wrote, and how tests come by one.

import Glibc
import Support
import Synchronization

/// Runs until it is dropped; the shared ones until the test runner ends.
final class Provider: Sendable {
    /// Set by `make test-providers`: installing packages is not for every test run.
    static let isWanted = getenv("PROVIDERS") != nil

    let kind: Kind
    /// Where a browser comes back to, at servers that compare redirect URIs whole.
    let callbackPort: UInt16
    private let server: ServerScript

    /// Starts one for a single test.
    init(_ kind: Kind, lifetimeSeconds: Int = 300) throws {
        self.kind = kind
        callbackPort = try Ports.free()
        server = try ServerScript(kind.rawValue, ["\(callbackPort)", "\(lifetimeSeconds)"])
    }

    var issuer: String { server.announced }
    var port: UInt16 { server.port }

    /// The one that all tests share. Its script ends with the test runner.
    static func shared(_ kind: Kind) throws -> Provider {
        try running.withLock { running in
            if let provider = running[kind] { return provider }
            let provider = try Provider(kind)
            running[kind] = provider
            return provider
        }
    }

    private static let running = Mutex<[Kind: Provider]>([:])

    /// A file that the script left, such as a client's key.
    func file(_ name: String) throws -> Octets { try server.file(name) }
}
