// A real provider that nobody here wrote, started by its script in Servers/ for one test and
// stopped with it.

import Crypto
import Glibc
import Support
import Testing

/// Runs until it is dropped.
final class Provider: Sendable {
    enum Kind: String, Sendable, CustomTestStringConvertible {
        /// In C; access tokens live for two seconds, redirect URIs are exact.
        case glewlwyd
        /// In Python; access tokens live for five minutes, loopback redirects go to any port.
        case nanoidp

        var testDescription: String { rawValue }
    }

    /// Set by `make test-providers`: installing packages is not for every test run.
    static let isWanted = getenv("PROVIDERS") != nil

    /// How long an access token of Glewlwyd's lives.
    static let shortLifetimeSeconds = 2

    /// The clients that both servers know. The secret of `basic-cli` has no letter that
    /// form-encoding changes: NanoIDP does not undo it, as RFC 6749 section 2.3.1 asks.
    enum Client: String, CaseIterable, Sendable {
        case publicly = "public-cli"
        case basic = "basic-cli"
        case post = "post-cli"

        var secret: String? {
            switch self {
            case .publicly: nil
            case .basic: "canary-secret.for_basic~"
            case .post: "canary:secret+for/%&="
            }
        }

        var method: String {
            switch self {
            case .publicly: "none"
            case .basic: "client_secret_basic"
            case .post: "client_secret_post"
            }
        }
    }

    let kind: Kind
    let issuer: String
    let port: UInt16
    /// The registered callback; nil where any loopback port will do.
    let callbackPort: UInt16?
    private let directory: TemporaryDirectory
    private let child: ChildProcess

    init(_ kind: Kind) throws {
        self.kind = kind
        directory = try TemporaryDirectory()
        let port = try Ports.free()
        self.port = port
        var arguments = [Provider.path("Servers/\(kind.rawValue).sh"), directory.path, "\(port)"]
        switch kind {
        case .glewlwyd:
            let callback = try Ports.free()
            callbackPort = callback
            arguments += [
                "http://127.0.0.1:\(callback)/callback", "\(Provider.shortLifetimeSeconds)",
            ]
        case .nanoidp:
            callbackPort = nil
        }
        child = try ChildProcess(
            arguments, environment: Provider.environment, directory: directory.path)
        let child = child
        do {
            // The first time installs packages.
            issuer = try waited(for: "\(kind.rawValue) to start", within: .seconds(300)) {
                for line in child.printed(.output).text.components(separatedBy: "\n")
                where line.hasPrefix("ready ") {
                    return String(line.dropFirst(6))
                }
                guard child.isRunning else { throw Failure.ended("with the provider's script") }
                return nil
            }
        } catch {
            throw NotReady(reason: error, printed: child.printed(.error).text)
        }
    }

    deinit {
        child.kill(SIGTERM)
        _ = try? child.waitForEnd(within: .seconds(10))
        child.kill(SIGKILL, wholeGroup: true)
    }

    struct NotReady: Error, CustomStringConvertible {
        let reason: any Error
        let printed: String
        var description: String { "\(reason); it printed:\n\(printed)" }
    }

    /// The scripted person, as a command for `--browser`.
    static let user = path("user.py")

    /// Revokes a token of a confidential client (RFC 7009), behind the proxy's back.
    func revoke(_ token: String, client: Client) throws {
        guard let secret = client.secret else { preconditionFailure("public clients may not") }
        var form = FormText([("token", token)])
        var fields = [("Content-Type", "application/x-www-form-urlencoded")]
        if client == .basic {
            let pair = client.rawValue + ":" + secret
            fields.append(("Authorization", "Basic " + Base64.encode(Array(pair.utf8), .standard)))
        } else {
            form.pairs += [("client_id", client.rawValue), ("client_secret", secret)]
        }
        let answer = try RawClient(to: port).exchange(
            "POST", kind == .glewlwyd ? "/api/oidc/revoke" : "/revoke", fields: fields,
            body: Octets(form.encoded.utf8))
        guard answer.status == 200 else {
            throw Failure.malformed("revocation answered \(answer.status)")
        }
    }

    private static func path(_ name: String) -> String {
        #filePath.components(separatedBy: "/").dropLast().joined(separator: "/") + "/" + name
    }

    /// What the scripts need of the runner's environment: the package managers' settings too.
    private static var environment: [String: String] {
        var environment: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1)
            if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        // Kept, so that only the first run installs.
        let repository = #filePath.components(separatedBy: "/").dropLast(3).joined(separator: "/")
        environment["PROVIDERS_CACHE"] = repository + "/.build/providers"
        return environment
    }
}

/// TCP ports of loopback that nobody listens on now.
private enum Ports {
    static func free() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) | getsockname(descriptor, pointer, &length)
            }
        }
        guard code == 0 else { throw Failure.system("bind", errno) }
        return UInt16(bigEndian: address.sin_port)
    }
}
