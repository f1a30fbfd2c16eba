// Metrics of the real binary (peers.md requirements 22 and 23): equal to what the client and the servers
// counted, without a secret, and, where it is asked for, to the taste of Prometheus' own checker.

import Glibc
import Support
import Testing

/// Samples by their line up to the value.
private struct Scrape {
    let text: String
    private var values: [String: Double] = [:]

    init(_ text: String) {
        self.text = text
        for line in text.components(separatedBy: "\n") where !line.hasPrefix("#") {
            let parts = line.components(separatedBy: "} ")
            if parts.count == 2 {
                values[parts[0] + "}"] = Double(parts[1])
            } else {
                let words = line.components(separatedBy: " ")
                if words.count == 2 { values[words[0]] = Double(words[1]) }
            }
        }
    }

    /// A sample of ours; 0 where there is none.
    subscript(name: String) -> Double { values["credential_proxy_" + name] ?? 0 }

    /// All samples of a family with a label.
    func sum(_ family: String, having label: String = "") -> Double {
        values.filter {
            $0.key.hasPrefix("credential_proxy_" + family + "{") && $0.key.contains(label)
        }
        .values.reduce(0, +)
    }
}

extension ProxyProcess {
    fileprivate func scrape() throws -> Scrape {
        let answer = try RawClient(to: adminPort()).exchange("GET", "/metrics")
        #expect(answer.status == 200)
        #expect(answer.value("Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true)
        return Scrape(answer.body.text)
    }
}

@Suite(.ownThread) struct `Requirement 23: metrics` {
    private static let settings = [
        "admin: \"127.0.0.1:0\"", "workers: 2", "log: { format: json, access: all }",
    ]

    @Test func `equal what the client and the servers counted`() throws {
        let setup = try LoginSetup(settings: Self.settings) { request in
            switch request.path {
            case "/missing": FakeResponse(404, body: "none")
            case "/broken": FakeResponse(500)
            default: .ok(request.body)
            }
        }
        try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        var counted: [Int: Int] = [:]
        var (sent, received) = (0, 0)
        func ask(
            _ target: String, _ times: Int, body: Octets? = nil, fields: [(String, String)] = []
        ) throws {
            for number in 0..<times {
                // Over connections of their own too, so that both workers have some.
                let client = number % 3 == 0 ? try proxy.connect() : last
                last = client
                let method = body == nil ? "GET" : "POST"
                let answer = try client.exchange(method, target, fields: fields, body: body)
                counted[answer.status, default: 0] += 1
                guard answer.value("Content-Type") != "application/problem+json" else { continue }
                sent += body?.count ?? 0
                received += answer.body.count
            }
        }
        var last = try proxy.connect()
        try ask("/v1/x?q=canary-query-81", 40, body: "0123456789")
        try ask("/missing", 7)
        try ask("/broken", 3)
        try ask("/v1", 5, fields: [("Host", "evil.example")])
        setup.server.revokeAccessTokens()
        try ask("/v1/y", 1, body: "abc")

        let scrape = try proxy.scrape()
        let route = "route=\"/\""
        #expect(scrape.sum("requests_total", having: "class=\"2xx\"") == Double(counted[200] ?? -1))
        #expect(scrape.sum("requests_total", having: "class=\"5xx\"") == Double(counted[500] ?? -1))
        #expect(
            scrape["requests_total{\(route),class=\"4xx\",answered_by=\"upstream\",code=\"\"}"]
                == Double(counted[404] ?? -1))
        #expect(
            scrape.sum("requests_total", having: "code=\"host_not_allowed\"")
                == Double(counted[421] ?? -1))
        #expect(scrape.sum("requests_total") == Double(counted.values.reduce(0, +)))
        #expect(scrape["request_duration_seconds_count{\(route)}"] == 51)
        #expect(scrape["upstream_head_duration_seconds_count{\(route)}"] == 51)
        #expect(scrape["request_body_bytes_total{\(route)}"] == Double(sent))
        #expect(scrape["response_body_bytes_total{\(route)}"] == Double(received))
        // One refresh for the expired token, one for the 401 with its replay.
        #expect(scrape["replays_total{\(route)}"] == 1)
        #expect(scrape["credential_waits_total{\(route)}"] == 2)
        #expect(scrape["refreshes_total{credential=\"default\"}"] == 2)
        #expect(
            scrape["token_request_duration_seconds_count{credential=\"default\"}"]
                == Double(setup.server.tokenRequests.count))
        #expect(scrape["credential_usable{credential=\"default\"}"] == 1)
        #expect(
            abs(
                scrape["token_expiry_timestamp_seconds{credential=\"default\"}"]
                    - Double(time(nil)) - Double(setup.server.policy.accessSeconds)) < 60)
        #expect(scrape["requests_in_flight"] == 0 && scrape["workers"] == 2)
        #expect(
            scrape["upstream_connections_opened_total"] == Double(setup.api.connectionCount))
        let secrets = setup.server.secrets.union(["canary-query-81"])
        #expect(SecretSearch(secrets).found(in: Octets(scrape.text)).isEmpty)
        #expect(!scrape.text.contains("evil.example"))
        try check(scrape.text)
    }

    @Test func `tell why no credential is to be had`() throws {
        let setup = try LoginSetup(settings: Self.settings)
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.answer(FakeResponse(500)))
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 503)
        setup.server.failAlways(nil)
        let scrape = try proxy.scrape()
        #expect(
            scrape[
                "requests_total{route=\"/\",class=\"5xx\",answered_by=\"proxy\","
                    + "code=\"token_endpoint_unreachable\"}"] == 1)
        #expect(scrape["refresh_failures_total{credential=\"default\",cause=\"unreachable\"}"] >= 1)
        #expect(
            scrape["token_request_failures_total{credential=\"default\",cause=\"status_5xx\"}"] >= 1
        )
        #expect(scrape["credential_usable{credential=\"default\"}"] == 0)
        try check(scrape.text)
    }

    /// `make test-metrics` sets PROMTOOL.
    private func check(_ text: String) throws {
        guard let tool = getenv("PROMTOOL") else { return }
        let directory = try TemporaryDirectory()
        let promtool = try ChildProcess(
            [String(cString: tool), "check", "metrics"], environment: [:],
            directory: directory.path, input: Octets(text))
        let result = try CommandResult(of: promtool)
        // It prints what it does not like, and nothing else.
        #expect(result.status == 0 && result.error + result.output == "", "\(result)")
    }
}
