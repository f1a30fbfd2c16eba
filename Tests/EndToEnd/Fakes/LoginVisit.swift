// A `proxy login --print-url` that waits, with the test in the browser's place.

import Support
import Testing

/// Runs until the login ends.
struct LoginVisit {
    let child: ChildProcess
    /// What the command printed.
    let url: String
    let query: FormText

    init(
        _ home: ProxyHome, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws {
        let child = try home.start(
            ["login", "--print-url", "--config", home.configurationFile] + arguments,
            environment: environment)
        self.child = child
        url = try waited(for: "the login's address", within: .seconds(20)) {
            let lines = child.printed(.output).text.components(separatedBy: "\n")
            guard lines.count > 1 else {
                guard child.isRunning else {
                    throw Failure.ended("with the login: \(child.printed(.error).text)")
                }
                return nil
            }
            return lines[0]
        }
        query = FormText(reading: url.components(separatedBy: "?").dropFirst().joined())
    }

    var redirect: String { query["redirect_uri"] ?? "" }
    var state: String { query["state"] ?? "" }

    var port: UInt16 {
        get throws { try #require(UInt16(redirect.components(separatedBy: ":")[2].digits)) }
    }

    /// The path and query of the callback.
    func target(_ query: [(name: String, value: String)]) throws -> String {
        let path = "/" + redirect.components(separatedBy: "/").dropFirst(3).joined(separator: "/")
        return path + "?" + FormText(query).encoded
    }

    /// Plays the browser.
    @discardableResult
    func visit(_ target: String, fields: [(String, String)] = []) throws -> HTTPMessage {
        try RawClient(to: try port).exchange("GET", target, fields: fields)
    }

    /// Where the provider sends the browser: to a path and query of the callback.
    func consent(at server: FakeAuthorizationServer) throws -> String {
        let target = String(url.dropFirst(server.origin.count))
        let answer = try RawClient(to: server.port).exchange("GET", target)
        let location = try #require(answer.value("Location"), "\(answer)")
        return "/" + location.components(separatedBy: "/").dropFirst(3).joined(separator: "/")
    }

    /// How the command ended.
    func result(within limit: Duration = .seconds(30)) throws -> CommandResult {
        try CommandResult(of: child, within: limit)
    }

    /// Whether anybody still listens for the callback.
    var isListening: Bool { (try? RawClient(to: port)) != nil }
}

extension String {
    /// The digits at the start.
    fileprivate var digits: String {
        String(String.UnicodeScalarView(unicodeScalars.prefix { (48...57).contains($0.value) }))
    }
}
