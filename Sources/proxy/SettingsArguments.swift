// The flags that say which configuration a command works with: the same for every command that has
// one.

import Configuration

/// A file that is named or searched for, or the short form on the command line.
struct SettingsArguments: Sendable {
    private(set) var request: SettingsRequest

    static let help =
        helpOfLogin + [CommandHelp.Row("--scope S", "what to ask it for; often")]

    /// `proxy login` has a `--scope` of its own.
    static let helpOfLogin: [CommandHelp.Row] = [
        .init("--config FILE", "this configuration instead of the one that is searched for"),
        .init("--upstream URL", "without a file: the API,"),
        .init("--issuer URL", "its provider,"),
        .init("--client-id ID", "and the client's name there"),
    ]

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        request = SettingsRequest(configFile: try arguments.value(of: "--config", "FILE"))
        request.upstream = try arguments.value(of: "--upstream", "URL")
        request.issuer = try arguments.value(of: "--issuer", "URL")
        request.clientID = try arguments.value(of: "--client-id", "ID")
        request.scopes = try arguments.values(of: "--scope", "S")
    }

    /// As if `--config` had been given; without a file, as if no flag had.
    init(configFile: String?) {
        request = SettingsRequest(configFile: configFile)
    }

    /// `--listen ADDR`, of the one command that listens.
    mutating func readListen(_ arguments: inout ArgumentReader) throws(UsageError) {
        request.listen = try arguments.values(of: "--listen", "ADDR")
    }

    /// The same, once; without it a free port.
    mutating func readOneListen(_ arguments: inout ArgumentReader) throws(UsageError) {
        request.listen = [try arguments.value(of: "--listen", "ADDR") ?? "127.0.0.1:0"]
    }

    /// `--scope` without `--upstream`: scopes for this one login, which no configuration has.
    mutating func takeLoginScopes() -> [String] {
        guard request.upstream == nil else { return [] }
        defer { request.scopes = [] }
        return request.scopes
    }

    /// The flags as they can be typed again, to reach the same credentials.
    var typed: [String] {
        let flags = [
            ("--config", request.configFile), ("--upstream", request.upstream),
            ("--issuer", request.issuer), ("--client-id", request.clientID),
        ]
        return flags.flatMap { flag in flag.1.map { [flag.0, $0] } ?? [] }
            + request.scopes.flatMap { ["--scope", $0] }
    }
}
