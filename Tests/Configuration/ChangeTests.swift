// What may change while a proxy runs, what a route tells the program of `proxy run`, and when a file is
// read again.

import Bytes
import Configuration
import Routing
import Testing
import Vocabulary

@Suite struct `A change of settings` {
    private let plain = short()

    @Test(arguments: [
        "allowed_hosts: [a.internal]", "timeouts: { connect: 3s }", "shutdown: { grace: 1s }",
        "log: { level: debug }", "listen: [\"127.0.0.1:9\", \"unix:/run/s\"]",
        "local_secret: { env: S }",
    ])
    func `is taken up by a running proxy`(line: String) throws {
        #expect(try settings(plain).fixedKeys(changedIn: settings(short(line))) == [])
    }

    @Test(arguments: [
        ("workers", "workers: 7"), ("limits", "limits: { fields: 20 }"),
        ("state_dir", "state_dir: s"),
        ("store", "store: { encrypt: { key: { file: k } } }"),
        ("forward_proxy", "forward_proxy: none"),
        ("ca_file", "ca_file: ca.pem"), ("reload", "reload: signal"),
        ("log.format", "log: { format: json }"), ("listen", "listen: [systemd]"),
    ])
    func `needs a restart for the key that says so`(key: String, line: String) throws {
        #expect(try settings(plain).fixedKeys(changedIn: settings(short(line))) == [key])
    }

    @Test func `of a socket file's rights needs one, of its users does not`() throws {
        func listening(_ more: String) throws -> Settings {
            try settings(short("listen: [{ address: \"unix:/run/s\", \(more) }]"))
        }
        let before = try listening("mode: \"0600\"")
        #expect(
            try before.fixedKeys(changedIn: listening("mode: \"0660\"")) == ["listen: unix:/run/s"])
        #expect(try before.fixedKeys(changedIn: listening("users: [app]")) == [])
    }

    @Test func `moves routes to the slots that credentials have`() throws {
        let text = """
            routes:
              - { path: /a, upstream: "https://a.example", credential: one }
              - { path: /b, upstream: "https://b.example", credential: two }
              - { path: /c, upstream: "https://c.example", credential: none }
            credentials:
              one: { token: { env: A } }
              two: { token: { env: B } }
            """
        let table = try settings(text).table(slots: [CredentialSlot(7), CredentialSlot(3)])
        #expect(table.routes.map { $0.credential?.index } == [7, 3, nil])
    }

    @Test func `may demand a secret, which no route passes on`() throws {
        var demanding = try settings(short("local_secret: { env: S, header: X-S }"))
        try demanding.demand(.known(SecretBytes("made")))
        #expect(demanding.access.localSecret?.field == "X-S")
        #expect(demanding.access.localSecret?.source == .known(SecretBytes("made")))
    }
}

@Suite struct `Variables of a route` {
    private func routes(_ first: String, _ second: String = "x") -> String {
        """
        routes:
          - { path: /a, upstream: "https://a.example", credential: none, env: \(first) }
          - { path: /b, upstream: "https://b.example", credential: none, env: \(second) }
        """
    }

    @Test func `are a name, or names for the URL and the key`() throws {
        let read = try settings(routes("A_URL", "{ url: [B, B2], key: K }"))
        #expect(
            read.exports.map { [[String($0.route)], $0.urls, $0.keys] } == [
                [["0"], ["A_URL"], []], [["1"], ["B", "B2"], ["K"]],
            ])
        #expect(try settings(short("env: API")).exports.map(\.urls) == [["API"]])
    }

    @Test(arguments: [
        (
            "\"1A\"",
            "2:71: \"1A\" is no name of a variable | use letters, digits and _, such as GITHUB_API_URL"
        ),
        (
            "x",
            "3:71: the variable \"x\" would have two values | give each route a variable of its own"
        ),
        (
            "{ key: x }",
            "3:71: the variable \"x\" would have two values | give each route a variable of its own"
        ),
        ("{}", "2:71: \"env\" names no variable | write env: { url: API_BASE_URL, key: API_KEY }"),
    ])
    func `that cannot be are told`(first: String, problem: String) {
        #expect(problems(routes(first)) == [problem])
    }
}
