// The process around the commands: signals, descriptors, a port that is taken, a log that nobody reads.

import Support
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct Process {
    private func home(_ upstream: FakeUpstream, _ more: String = "") throws -> ProxyHome {
        let home = try ProxyHome()
        let token = try home.directory.write("canary-token\n", to: "token")
        try home.write(
            configuration: """
                listen: "127.0.0.1:0"
                upstream: \(upstream.url)
                credential: { token: { file: \(token) } }
                \(more)
                """)
        return home
    }

    @Test func `finishes what runs at the first signal`() throws {
        let gate = Gate()
        let upstream = try FakeUpstream { _ in
            try gate.pass()
            return .ok()
        }
        // Its directory goes with it.
        let home = try home(upstream)
        defer { withExtendedLifetime(home) {} }
        let proxy = try home.serve()
        let client = try proxy.connect()
        try client.send("GET / HTTP/1.1\r\nHost: localhost:\(proxy.port)\r\n\r\n")
        try gate.waitForArrivals(1)
        proxy.child.kill(SIGTERM)
        try proxy.waitForLog("ending")
        gate.open()
        #expect(try client.stream.readToEnd().hasPrefix("HTTP/1.1 200 "))
        #expect(try proxy.child.waitForEnd() == .exited(0))
    }

    @Test func `does not end with success where its answer reaches nobody`() throws {
        let home = try ProxyHome()
        let script = "exec \"$0\" version >&-"
        let result = try CommandResult(of: home.startShell(script, [Binary.path]))
        #expect(result.status == 1)
        #expect(result.error.contains("cannot write to standard output"), "\(result)")
        let silent = "exec \"$0\" check --config /nonexistent >&-"
        #expect(try CommandResult(of: home.startShell(silent, [Binary.path])).status == 78)
    }

    @Test func `says what to do where it cannot listen`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try home(upstream)
        let path = home.directory.path("none/p.sock")
        let result = try CommandResult(
            of: home.start([
                "serve", "--config", home.configurationFile, "--listen", "unix:\(path)",
            ]))
        #expect(result.status == 1)
        #expect(result.error.contains("hint: make the directory first"), "\(result)")
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `ends at once at the second signal`(signal: Int32) throws {
        let gate = Gate()
        let upstream = try FakeUpstream { _ in
            try gate.pass()
            return .ok()
        }
        defer { gate.open() }
        // Its directory goes with it.
        let home = try home(upstream)
        defer { withExtendedLifetime(home) {} }
        let proxy = try home.serve()
        let client = try proxy.connect()
        try client.send("GET / HTTP/1.1\r\nHost: localhost:\(proxy.port)\r\n\r\n")
        try gate.waitForArrivals(1)
        proxy.child.kill(SIGTERM)
        try proxy.waitForLog("ending")
        #expect(proxy.child.isRunning)
        proxy.child.kill(signal)
        #expect(try proxy.child.waitForEnd(within: .seconds(5)) == .exited(128 + signal))
    }

    @Test func `leaves no descriptor to a child and no core to a reader`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        // Its directory goes with it.
        let home = try home(upstream)
        defer { withExtendedLifetime(home) {} }
        let proxy = try home.serve()
        let response = try proxy.exchange()
        #expect(response.status == 200, "\(response) \(proxy.log)")
        let process = "/proc/\(proxy.child.identifier)"
        let descriptors = Files.list("\(process)/fdinfo").compactMap { Int32($0) }
        #expect(descriptors.count > 3)
        for descriptor in descriptors where descriptor > 2 {
            guard let facts = try Files.read("\(process)/fdinfo/\(descriptor)")?.text else {
                continue
            }
            let flags = facts.components(separatedBy: "flags:").dropFirst().first?
                .components(separatedBy: "\n")[0].filter { $0.isNumber }
            let value = try #require(flags.flatMap { Int32($0, radix: 8) })
            guard value & O_CLOEXEC == 0 else { continue }
            // libcurl's own wake-up pair, which carries nothing, is the one thing without the flag.
            let target = link("\(process)/fd/\(descriptor)")
            let number = target.filter { $0.isNumber }
            let pairs = try #require(try Files.read("\(process)/net/unix")).text
            #expect(
                target.hasPrefix("socket:") && pairs.contains(" \(number)\n"),
                "descriptor \(descriptor): \(target)")
        }
        let limits = try #require(try Files.read("\(process)/limits")).text
        let core = limits.components(separatedBy: "Max core file size").last ?? ""
        #expect(core.components(separatedBy: "\n")[0].components(separatedBy: " ").contains("0"))
    }

    private func link(_ path: String) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = buffer.withUnsafeMutableBytes { bytes in
            readlink(path, bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    @Test func `does not start on a port that is taken, and says which`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let other = try FakeUpstream { _ in .ok() }
        let taken = "127.0.0.1:\(other.port)"
        let home = try home(upstream)
        let result = try home.run(["serve", "--listen", taken])
        #expect(result.status == 1)
        #expect(result.error.contains("proxy: error: cannot listen on \(taken): "))
        #expect(result.error.contains("proxy: hint: "))
    }

    @Test func `goes on when nobody reads its log any more`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try home(upstream, "log: { level: debug, access: all }")
        let shell = """
            mkfifo log
            "$1" serve --config "$2" 2>log &
            url=$(head -n 1 log | grep -o 'http://[0-9.:]*')
            for i in 1 2 3; do curl -s -o body -w '%{http_code} ' "$url/"; done
            kill $!
            wait $!
            echo $?
            """
        let child = try ChildProcess(
            ["/bin/sh", "-c", shell, "sh", Binary.path, home.configurationFile],
            environment: home.environment, directory: home.directory.path("home"))
        try child.waitForEnd()
        #expect(child.printed(.output).text == "200 200 200 0\n")
    }

    @Test func `gives a login up at Ctrl-C, with a code of its own`() throws {
        let server = try FakeAuthorizationServer()
        let home = try ProxyHome(
            configuration: """
                upstream: http://127.0.0.1:9
                credential: { issuer: "\(server.issuer)", client_id: cli-4711 }
                """)
        let login = try home.start([
            "login", "--print-url", "--config", home.configurationFile,
        ])
        try waited(for: "the address") {
            login.printed(.output).contains("/authorize?") ? () : nil
        }
        login.kill(SIGINT)
        #expect(try login.waitForEnd(within: .seconds(10)) == .exited(130))
        #expect(login.printed(.error).contains("cancelled"))
        #expect(!Files.exists(home.loginFile()))
    }
}
