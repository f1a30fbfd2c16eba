import Configuration
import Routing
import Testing
import Vocabulary

@Suite struct `YAML` {
    @Test(arguments: [
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ("~", "the file is empty"),
        ("upstream: [", "2:1: did not find expected node content"),
        ("upstream: \"a", "1:13: found unexpected end of stream"),
        ("\tupstream: a", "1:1: found character that cannot start any token"),
        ("a: b: c", "1:5: mapping values are not allowed in this context"),
        ("- a\n- b", "1:1: the configuration must be a mapping, and this is a list"),
        ("text", "1:1: the configuration must be a mapping, and this is a value"),
        ("a: 1\n---\nb: 2", "2:1: a second document begins here"),
        ("upstream: *x", "1:11: no anchor named \"x\""),
        ("upstream: &a [*a]", "1:15: no anchor named \"a\""),
        ("? [a, b]\n: c", "1:3: a key must be a name, and this is a list"),
        (
            "upstream: !!binary aGk=",
            "1:11: the tag \"tag:yaml.org,2002:binary\" means nothing here"
        ),
        ("upstream: !ruby/object {}", "1:11: the tag \"!ruby/object\" means nothing here"),
        ("workers: 1\nlog: {}\nworkers: 2", "3:1: the key \"workers\" occurs twice"),
        ("log: { level: info, level: debug }", "1:21: the key \"level\" occurs twice"),
    ])
    func `that is no configuration is refused with its place`(
        _ text: String, _ expected: String
    ) throws {
        let found = try #require(problems(text).first)
        #expect(found.hasPrefix(expected), "\(found)")
        #expect(found.contains(" | ") || !found.contains("begins here"), "\(found)")
    }

    @Test(arguments: [
        ("listen: [::1]:8080", "put values with brackets in quotes, such as \"[::1]:8080\""),
        (
            "log: { level: info\nworkers: 1",
            "check the indentation, and that each bracket is closed"
        ),
        (
            "upstream: a\n  workers: 1",
            "check the indentation, and that a space follows each colon before"
        ),
        (
            "log:\n\tlevel: info",
            "indent with spaces, not with tabs; put values with special characters in quotes"
        ),
    ])
    func `with a slip of the pen comes with a remedy`(_ text: String, _ hint: String) {
        let found = problems(text)
        #expect(found.count == 1)
        #expect(found[0].hasSuffix(" | \(hint)"), "\(found)")
    }

    @Test func `may be JSON`() throws {
        let json = """
            {"upstream":"https:\\/\\/api.example.com","credential":{"issuer":"https://a.example",
            \t"client_id":"caf\\u00e9"},"workers":2,"log":{"access":"all"}}
            """
        let read = try settings(json)
        #expect(try read.oauth.clientID == "caf\u{e9}")
        #expect(read.workers == 2)
        #expect(read.log.access == .all)
    }

    @Test func `may begin with a byte order mark`() throws {
        #expect(throws: Never.self) { try settings("\u{FEFF}" + short()) }
    }

    @Test(arguments: [[0xFF, 0x00], [0x61, 0x3A, 0x20, 0xC3, 0x28], [0x61, 0x00, 0x62]])
    func `that is no text is refused`(_ bytes: [UInt8]) throws {
        #expect(throws: ConfigurationError.self) {
            try Settings.parse(bytes, file: "f", in: surroundings)
        }
    }

    @Test func `may repeat a part by name`() throws {
        let text = """
            routes:
              - { path: /a, upstream: &url "https://api.example.com", credential: c }
              - { path: /b, upstream: *url, credential: c }
            credentials:
              c: { token: { env: TOKEN } }
            """
        #expect(try settings(text).routes.upstreams.count == 1)
    }

    @Test func `that grows by its aliases is refused`() throws {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let items = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(items)]\n"
        }
        #expect(problems(text).first?.contains("more than 100000 values") == true)
    }

    @Test func `that is too deep is refused`() throws {
        let text = "routes: " + String(repeating: "[", count: 100_000)
        #expect(
            problems(text) == [
                "1:40: nested deeper than 32 levels | check the indentation and the brackets before"
            ])
    }

    @Test func `that is too large is refused`() throws {
        let text = short() + String(repeating: "# comment\n", count: 120_000)
        #expect(
            problems(text) == [
                "the file is larger than 1MiB | is it the right one? a configuration has a few kilobytes"
            ])
    }

    @Test func `in another encoding is told by line and column, counted in bytes`() throws {
        let bytes = Array("upstream: a\n# ".utf8) + [0xE9, 0x0A]
        let error = #expect(throws: ConfigurationError.self) {
            try Settings.parse(bytes, file: "latin.yaml", in: surroundings)
        }
        let problem = try #require(error?.problems.first)
        #expect("\(problem)".hasPrefix("latin.yaml:2:3: "), "\(problem)")
        #expect(problem.hint == "save the file as UTF-8 text")
    }

    @Test func `cut off anywhere is read or refused`() throws {
        let text = short("log: { level: debug }\nlisten: [\"127.0.0.1:0\"]")
        for count in 0..<text.utf8.count {
            do {
                _ = try Settings.parse(Array(text.utf8.prefix(count)), file: "f", in: surroundings)
            } catch {
                #expect(!error.problems.isEmpty)
            }
        }
    }
}
