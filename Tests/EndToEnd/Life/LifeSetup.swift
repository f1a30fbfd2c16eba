// The worlds of the tests of a proxy's life: a configuration that changes, and clients that never stop.

import Glibc
import Support
import Synchronization

/// A proxy with two routes and a token file for each, behind one port that stays.
struct LifeSetup {
    let upstream: FakeUpstream
    let home: ProxyHome
    static let tokens = ["a": "canary-life-token-a-7Wq2", "b": "canary-life-token-b-9Xr4"]

    /// - Parameter respond: by default the upstream answers with the credential that it saw.
    init(
        _ respond: @escaping @Sendable (HTTPMessage) throws -> FakeResponse = { request in
            .ok(Octets(request.value("Authorization") ?? "none"))
        }
    ) throws {
        upstream = try FakeUpstream(answering: respond)
        home = try ProxyHome()
        for (name, token) in Self.tokens {
            try home.directory.write(Octets(token), to: "settings/token-\(name)")
        }
    }

    /// A configuration in which /a has token a and /b token b, whatever their credentials are called and
    /// in which order they stand.
    func text(
        names: [String: String] = ["a": "a", "b": "b"], isReversed: Bool = false,
        listen: [String] = ["127.0.0.1:0"], settings: [String] = ["reload: signal"]
    ) -> String {
        let order = isReversed ? ["b", "a"] : ["a", "b"]
        let addresses = listen.map { "\"\($0)\"" }.joined(separator: ", ")
        var lines = ["listen: [\(addresses)]"] + settings
        lines += ["log: { level: info, format: json }", "routes:"]
        for name in order {
            let credential = names[name] ?? name
            lines.append(
                "  - { path: /\(name), upstream: \"\(upstream.url)\", credential: \(credential) }")
        }
        lines.append("credentials:")
        for name in order.reversed() {
            lines.append("  \(names[name] ?? name): { token: { file: \"token-\(name)\" } }")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    func serve(_ text: String) throws -> ProxyProcess {
        try home.write(configuration: text)
        return try home.serve()
    }
}

extension ProxyProcess {
    /// How often a message stands in the log.
    func logged(_ message: String) -> Int {
        child.printed(.error).text.components(separatedBy: message).count - 1
    }

    /// Sends SIGHUP and waits for what comes of it: true when the configuration was taken.
    @discardableResult
    func reload() throws -> Bool {
        let (taken, refused) = (logged(Self.taken), logged(Self.refused))
        child.kill(SIGHUP)
        return try waited(for: "the reload", within: .seconds(20)) {
            if logged(Self.taken) > taken { return true }
            return logged(Self.refused) > refused ? false : nil
        }
    }

    static let taken = "the configuration was loaded again"
    static let refused = "the configuration was not loaded"
}

/// What clients that never stop have seen.
final class Tally: Sendable {
    struct State {
        var good = 0
        var refusedConnections = 0
        var faults: [String] = []
        var isOver = false
        var running = 0
    }

    let state = Mutex(State())

    var good: Int { state.withLock { $0.good } }
    var faults: [String] { state.withLock { $0.faults } }
    var refusedConnections: Int { state.withLock { $0.refusedConnections } }

    func stop() { state.withLock { $0.isOver = true } }

    func waitForEnd() throws {
        try waited(for: "the clients' end", within: .seconds(60)) {
            state.withLock { $0.running == 0 } ? () : nil
        }
    }

    /// A client on a thread of its own that asks until it is told to stop or cannot connect any more.
    ///
    /// - Parameters:
    ///   - keepsAlive: whether it uses a connection for as long as the proxy lets it.
    ///   - expected: the body of the right answer.
    func start(
        to port: UInt16, _ target: String, keepsAlive: Bool, expected: String
    ) {
        state.withLock { $0.running += 1 }
        OwnThread.start { [self] in
            defer { state.withLock { $0.running -= 1 } }
            var client: RawClient?
            var isFresh = true
            while !state.withLock({ $0.isOver }) {
                if client == nil {
                    client = try? RawClient(to: port)
                    isFresh = true
                    if client == nil {
                        state.withLock { $0.refusedConnections += 1 }
                        return
                    }
                }
                do {
                    let answer = try client?.exchange("GET", target)
                    let isGood = answer?.status == 200 && answer?.body.text == expected
                    state.withLock { state in
                        if isGood {
                            state.good += 1
                        } else {
                            state.faults.append(
                                "\(answer?.status ?? 0) \(answer?.body.text ?? "")")
                        }
                    }
                    isFresh = false
                    if !keepsAlive || answer?.value("Connection") == "close" { client = nil }
                } catch {
                    state.withLock { $0.faults.append("\(isFresh ? "new" : "kept"): \(error)") }
                    client = nil
                }
            }
        }
    }
}
