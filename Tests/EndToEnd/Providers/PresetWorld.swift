// A preset's starter, as `proxy init` writes it, against a scripted provider under the real one's host
// names: only the places of the files and the ports are this machine's.

import Glibc
import Support
import Testing

/// A home with a starter for a configuration, and the Internet that it needs.
struct PresetWorld {
    let home: ProxyHome
    let internet: FakeInternet

    /// - Parameters:
    ///   - changes: texts of the starter, each with what stands here instead.
    ///   - files: what the starter names, by name.
    init(
        _ preset: String, _ hosts: [String: FakeInternet.Responder],
        changes: [(String, String)] = [], files: [String: String] = [:],
        settings: [String] = []
    ) throws {
        internet = try FakeInternet(hosts)
        home = try ProxyHome()
        let file = home.configurationFile
        unlink(file)
        let written = try home.start(["init", preset, "--output", file])
        guard case .exited(0) = try written.waitForEnd() else {
            throw CommandFailed(try CommandResult(of: written))
        }
        var text = try String(decoding: #require(try Files.read(file)).bytes, as: UTF8.self)
        for (old, new) in changes {
            try #require(text.contains(old), "the starter has no \"\(old)\"")
            text = text.components(separatedBy: old).joined(separator: new)
        }
        // Two tests at once must not want one port.
        for port in ["8765", "8766"] where text.contains(":\(port)") {
            let free = try FakeUpstream { _ in }.port
            text = text.components(separatedBy: ":\(port)").joined(separator: ":\(free)")
        }
        text +=
            (["listen: [\"127.0.0.1:0\"]", "log: { level: debug }"] + internet.settings + settings)
            .joined(separator: "\n") + "\n"
        try home.write(configuration: text)
        for (name, content) in files {
            try home.directory.write(Octets(content.utf8), to: "settings/\(name)")
        }
    }

    /// A browser that lives in the scripted Internet and follows redirects at once.
    func browser() throws -> String { try home.browser(internet.curlArguments) }

    @discardableResult
    func logIn() throws -> CommandResult { try home.logIn(curl: internet.curlArguments) }

    /// The stored login, as text.
    func stored() throws -> String {
        let file = try #require(try Files.read(home.loginFile()))
        return String(decoding: file.bytes, as: UTF8.self)
    }
}
