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
