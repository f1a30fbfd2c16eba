import Routing
import Testing
import Vocabulary

@testable import Configuration

@Suite struct `Listeners` {
    @Test func `are read in all their forms`() throws {
        let read = try settings(
            short(
                """
                listen:
                  - 8080
                  - unix:run/p.sock
                  - { address: "unix:~/p.sock", mode: "0660", owner: app, group: 100, users: [app, 7] }
                  - { address: "127.0.0.1:8443", tls: { certificate: c.pem, key: /k.pem } }
                  - systemd
                  - systemd:agent
                """))
        #expect(
            read.listen.map(\.description) == [
                "127.0.0.1:8080", "[::1]:8080", "unix:/etc/proxy/run/p.sock",
                "unix:/home/user/p.sock",
                "127.0.0.1:8443", "systemd", "systemd:agent",
            ])
        #expect(read.listen[2].access.mode == 0o600)
        #expect(read.listen[3].access.mode == 0o660)
        #expect(read.listen[3].access.owner == "app")
        #expect(read.listen[3].access.group == "100")
        #expect(read.listen[3].access.users == ["app", "7"])
        #expect(read.listen[4].tls?.certificateFile == "/etc/proxy/c.pem")
        #expect(read.listen[4].tls?.keyFile == "/k.pem")
    }

    private func routes(_ names: String) -> String {
        """
        listen:
          - { address: 127.0.0.1:8080, name: open }
          - { address: "unix:/p", name: agent }
          - 127.0.0.1:9000
        credentials: { a: { token: { env: T } } }
        routes:
          - { path: /x, upstream: "https://x", credential: a }
          - { path: /y, upstream: "https://y", credential: a, listeners: \(names) }
        """
    }

    @Test func `may serve routes of their own`() throws {
        let read = try settings(routes("[agent]"))
        #expect(read.routeSpecs.map(\.listeners) == [nil, [1]])
        #expect(try settings(routes("[open, agent]")).routeSpecs[1].listeners == [0, 1])
        #expect(
            problems(routes("[agnet]")) == [
                "8:67: no listener is named \"agnet\" | did you mean \"agent\"?"
            ]
        )
    }
}

@Suite struct `The admin listener` {
    @Test(arguments: ["", "admin: off"])
    func `is off by itself and in one line`(_ line: String) throws {
        #expect(try settings(short(line)).admin == AdminSettings())
    }

    @Test func `is read in the forms of listen`() throws {
        let both = try settings(short("admin: 8081")).admin
        #expect(both.listeners.map(\.description) == ["127.0.0.1:8081", "[::1]:8081"])
        #expect(!both.allowsQuit)
        let file = try settings(
            short(
                "admin: { address: \"unix:admin.sock\", mode: \"0660\", users: [app], quit: true }")
        ).admin
        #expect(file.listeners.map(\.description) == ["unix:/etc/proxy/admin.sock"])
        #expect(file.listeners[0].access.mode == 0o660)
        #expect(file.listeners[0].access.users == ["app"])
        #expect(file.allowsQuit)
        let several = try settings(short("admin: [\"127.0.0.1:1\", systemd:admin]")).admin
        #expect(several.listeners.map(\.description) == ["127.0.0.1:1", "systemd:admin"])
    }

    @Test func `is open to others only with a secret, and is no place of the proxy's own`() throws {
        #expect(
            problems(short("admin: 0.0.0.0:8081")).first?.contains(
                "can be reached from other machines")
                == true)
        #expect(
            try settings(short("admin: 0.0.0.0:8081\nlocal_secret: { file: s }")).admin.listeners
                .count
                == 1)
        #expect(
            problems(short("listen: 127.0.0.1:8081\nadmin: 127.0.0.1:8081")).first?.contains(
                "is listed twice") == true)
        #expect(
            problems(
                short("admin: 127.0.0.1:8081").replacing(
                    "https://api.example.com", with: "http://127.0.0.1:8081")
            )
            .contains { $0.contains("is this proxy") })
    }

    @Test func `speaks no TLS and has no name, and says so`() {
        #expect(
            problems(short("admin: { address: 8081, tls: { certificate: c, key: k } }")).first?
                .contains("the status page speaks http") == true)
        #expect(problems(short("admin: { address: 8081, name: x }")).count == 1)
        #expect(problems(short("admin: { mode: \"0660\" }")).count == 1)
        #expect(problems(short("admin: []")).count == 1)
        #expect(problems(short("metrics: 8081")).first?.contains("/metrics") == true)
    }
}
