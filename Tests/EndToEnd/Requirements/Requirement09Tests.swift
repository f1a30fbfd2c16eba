// Where it listens (peers.md requirement 9; case C070 for the proxy's own port).

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Requirement 9: loopback or explicit` {
    private let upstream: FakeUpstream
    private let home: ProxyHome

    init() throws {
        upstream = try FakeUpstream { _ in .ok() }
        home = try ProxyHome()
        try home.directory.write("canary-listen-token", to: "settings/token")
    }

    private func configure(listen: String?, _ more: [String] = []) throws {
        let lines =
            (listen.map { ["listen: \($0)"] } ?? []) + more + [
                "upstream: \(upstream.url)",
                "credential: { token: { file: \(YAML.quoted(home.directory.path("settings/token"))) } }",
            ]
        try home.write(configuration: lines.joined(separator: "\n") + "\n")
    }

    /// Local addresses of listening sockets of a process, as /proc/net/tcp writes them.
    private func listeners(of child: ChildProcess) throws -> Set<String> {
        let inodes = Set(
            Files.list("/proc/\(child.identifier)/fd").compactMap { name -> String? in
                var buffer = [CChar](repeating: 0, count: 256)
                let path = "/proc/\(child.identifier)/fd/\(name)"
                let count = readlink(path, &buffer, 255)
                guard count > 0 else { return nil }
                let target = String(
                    decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                guard target.hasPrefix("socket:[") else { return nil }
                return String(target.dropFirst("socket:[".count).dropLast())
            })
        var addresses: Set<String> = []
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            for line in try (Files.read(table) ?? "").text.components(separatedBy: "\n") {
                let columns = line.components(separatedBy: " ").filter { !$0.isEmpty }
                // Columns of proc(5): local address, remote address, state (0A: listening), …, inode.
                guard columns.count > 9, columns[3] == "0A", inodes.contains(columns[9]) else {
                    continue
                }
                addresses.insert(columns[1].components(separatedBy: ":")[0])
            }
        }
        return addresses
    }

    private static let loopbackIPv4 = "0100007F"
    private static let loopbackIPv6 = "00000000000000000000000001000000"

    @Test func `by default only on 127.0.0.1 and ::1`() throws {
        // The default port may be taken on this machine; then the start fails, which is checked below.
        try configure(listen: nil)
        do {
            let proxy = try home.serve()
            #expect(try listeners(of: proxy.child) == [Self.loopbackIPv4, Self.loopbackIPv6])
        } catch let error as ProxyProcess.NotReady {
            #expect(error.printed.contains("8080"), "\(error)")
            #expect(error.printed.contains("in use"), "\(error)")
        }
    }

    @Test func `on both families with one port (C070)`() throws {
        let port = try FakeUpstream { _ in }.port
        try configure(listen: "[\"127.0.0.1:\(port)\", \"[::1]:\(port)\"]")
        let proxy = try home.serve()
        #expect(proxy.port == port)
        #expect(try listeners(of: proxy.child) == [Self.loopbackIPv4, Self.loopbackIPv6])
        for host in ["127.0.0.1", "::1"] {
            #expect(try RawClient(to: port, host: host).exchange().status == 200)
        }
    }

    @Test(arguments: ["\"0.0.0.0:0\"", "\"[::]:0\"", "\":0\"", "\"192.0.2.1:0\""])
    func `another address without a local secret is refused at start`(listen: String) throws {
        try configure(listen: "[\(listen)]")
        let result = try home.run(["serve"])
        #expect(result.status == 78, "\(result)")
        #expect(result.error.contains("proxy: error: "), "\(result.error)")
        #expect(!result.error.contains("listening"))
    }

    @Test func `another address with a local secret is served, with it only`() throws {
        try home.directory.write("canary-local-secret", to: "settings/local")
        try configure(
            listen: "[\"0.0.0.0:0\"]",
            [
                "local_secret: { file: \(YAML.quoted(home.directory.path("settings/local"))) }",
                "log: { level: debug }",
            ])
        let child = try home.start(["serve", "--config", home.configurationFile])
        let port = try waited(for: "a listener") { () throws -> UInt16? in
            guard child.isRunning else { throw Failure.ended(child.printed(.error).text) }
            let parts = child.printed(.error).text.components(separatedBy: "0.0.0.0:")
            return parts.dropFirst().lazy.compactMap { part in
                UInt16(String(part.prefix { $0.isNumber }))
            }.first
        }
        let client = try RawClient(to: port)
        #expect(try client.exchange().isOurs(401, "local_secret_required"))
        #expect(upstream.requests.isEmpty)
        let response = try RawClient(to: port).exchange(
            "GET", "/", fields: [("Authorization", "Bearer canary-local-secret")])
        #expect(response.status == 200)
        #expect(
            try upstream.requests.item(0).values("Authorization") == ["Bearer canary-listen-token"])
        #expect(try !upstream.received.item(0).contains("canary-local-secret"))
        #expect(!child.printed(.error).contains("canary-local-secret"))
    }

    @Test func `a port in use ends the start, and no other is taken`() throws {
        let other = try FakeUpstream { _ in .ok() }
        try configure(listen: "[\"127.0.0.1:\(other.port)\"]")
        let result = try home.run(["serve"])
        #expect(result.status == 1, "\(result)")
        #expect(result.error.contains("\(other.port)"), "\(result.error)")
        #expect(result.error.contains("in use"), "\(result.error)")
    }
}
