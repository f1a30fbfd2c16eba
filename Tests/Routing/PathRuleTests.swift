import Bytes
import HTTPWire
import Testing

@testable import Routing

/// What the rules of a route say to a request of that method and target.
private func verdict(
    _ method: String, _ target: String, allow: [String] = [], deny: [String] = [],
    upstream: String = "https://api.example", path: String = "", fields: String = ""
) throws -> AccessRefusal? {
    var spec = try RouteSpec.to(upstream, path: path)
    spec.allow = allow
    spec.deny = deny
    let plan = try RouteTable([spec]).routes[0].plan
    return try withRequest("\(method) \(target) HTTP/1.1\nHost: localhost\(fields)") {
        head, target, bytes in
        switch plan.judge(head, target, bytes) {
        case .forward: nil
        case .refuse(let refusal): refusal
        }
    }
}

@Suite struct `Method and path rules` {
    @Test(arguments: [
        ("GET /repos/**", "GET", "/repos/a/b?x=/../y", true),
        ("GET /repos/**", "GET", "/repos/", true),
        ("GET /repos/**", "GET", "/repos", false),
        ("GET /repos/**", "GET", "/reposx/a", false),
        ("GET /repos/**", "HEAD", "/repos/a", true),
        ("GET /repos/**", "POST", "/repos/a", false),
        ("GET /repos/**", "get", "/repos/a", false),
        ("POST /repos/*/*/issues", "POST", "/repos/o/r/issues", true),
        ("POST /repos/*/*/issues", "POST", "/repos/o/r/issues/", false),
        ("POST /repos/*/*/issues", "POST", "/repos/o/issues", false),
        ("POST /repos/*/*/issues", "POST", "/repos/o/r/x/issues", false),
        ("GET,DELETE /a/*.json", "DELETE", "/a/b.json", true),
        ("GET,DELETE /a/*.json", "GET", "/a/.json", true),
        ("GET /a/*.json", "GET", "/a/b.jsonx", false),
        ("GET /a/v*-*x", "GET", "/a/v1-2-3x", true),
        ("* /**", "PURGE", "/", true), ("GET /", "GET", "/", true), ("GET /", "GET", "/a", false),
        ("GET /caf%C3%A9/*", "GET", "/caf%c3%a9/x", true),
        ("GET /admin", "GET", "/%61dmin", true),
        ("GET /a%20b", "GET", "/a%20b", true),
    ])
    func `are judged on the decoded path`(
        rule: String, method: String, target: String, isAllowed: Bool
    ) throws {
        #expect(
            try verdict(method, target, allow: [rule])
                == (isAllowed ? nil : .methodOrPathNotAllowed)
        )
    }

    @Test(arguments: [
        "/repos/../admin", "/repos/..", "/repos/.", "/./repos/a", "/repos/%2e%2e/admin",
        "/repos/%2E./admin", "/repos/a%2fb", "/repos/a%2Fb", "/repos/a%5cb", "/repos/a\\b",
        "/repos//a", "//repos/a", "/repos/a%00", "/repos/a%0a", "/repos/a%7f", "/repos/a%25",
        "/repos/%252e%252e/admin", "/repos/..;/admin", "/repos/a;x=1", "/repos/a%3bx", "/repos/%",
        "/repos/%2", "/repos/%zz", "/repos/%u002e", "/repos/%c0%ae", "/repos/%C1%9c",
        "/repos/%e0%80%ae", "/repos/%E0%9F%BF", "/repos/%f0%80%80%af", "/repos/%F0%8f%bf%bf",
    ])
    func `refuse a path that could be read in two ways (requirement 25)`(target: String) throws {
        #expect(try verdict("GET", target, allow: ["* /**"]) == .pathAmbiguous)
        #expect(try verdict("GET", target, deny: ["GET /other"]) == .pathAmbiguous)
        #expect(try verdict("GET", target) == nil, "without rules it is the upstream's to read")
    }

    @Test func `that deny are stronger than those that allow`() throws {
        let (allow, deny) = (["* /**"], ["DELETE /**", "* /admin/**"])
        #expect(try verdict("GET", "/a", allow: allow, deny: deny) == nil)
        #expect(
            try verdict("DELETE", "/a", allow: allow, deny: deny) == .methodOrPathNotAllowed)
        #expect(try verdict("GET", "/%61dmin/x", deny: deny) == .methodOrPathNotAllowed)
        #expect(try verdict("GET", "/x", deny: deny) == nil)
    }

    @Test(arguments: [
        ("* /admin", "/admin/", false), ("* /admin", "/ADMIN", false),
        ("* /admin", "/admin", false),
        ("* /admin/", "/admin", false), ("* /admin", "/admin/x", true),
        ("* /admin", "/admins", true),
        ("* /files/*/permissions/**", "/files/1/permissions", false),
        ("* /files/*/permissions/**", "/files/1/permissions/", false),
        ("* /files/*/permissions/**", "/files/1/Permissions/2", false),
        ("* /files/*/permissions/**", "/files/1/permission", true),
        ("DELETE /repos/acme/**", "/repos/ACME/x", true), ("GET /caf%C3%A9", "/CAF%C3%A9/", false),
        ("* /**", "/", false), ("* /", "/", false), ("* /", "/a", true), ("* /A*c", "/aBC", false),
    ])
    func `that deny cover what a server may take for the path`(
        rule: String, target: String, isAllowed: Bool
    ) throws {
        #expect(
            try verdict("GET", target, deny: [rule]) == (isAllowed ? nil : .methodOrPathNotAllowed))
    }

    @Test(arguments: ["delete", "Delete", "DELETe"])
    func `let no method in small letters pass, which servers take for another`(method: String)
        throws
    {
        let refused = AccessRefusal.methodOrPathNotAllowed
        #expect(try verdict(method, "/repos/x", deny: ["DELETE /repos/**"]) == refused)
        #expect(try verdict(method, "/repos/x", allow: ["* /**"]) == refused)
        #expect(try verdict(method, "/repos/x") == nil)
    }

    @Test func `speak of what stands behind the upstream's URL`() throws {
        let allow = ["GET /files/*"]
        for (target, isAllowed) in [
            ("/drive/files/7", true), ("/drive/files/7/x", false), ("/drive", false),
            ("http://localhost/drive/files/7", true),
        ] {
            let refusal = try verdict(
                "GET", target, allow: allow, upstream: "https://api.example/v3", path: "/drive")
            #expect((refusal == nil) == isAllowed, "\(target)")
        }
        #expect(try verdict("OPTIONS", "*", allow: ["* /**"]) == .methodOrPathNotAllowed)
    }

    @Test(arguments: [
        "X-HTTP-Method-Override: DELETE", "x-http-method: DELETE", "X-Method-Override: PUT",
        "X-Original-URL: /admin", "X-Rewrite-Url: /admin", "X_HTTP_Method_Override: DELETE",
    ])
    func `cannot be passed by fields that say another thing`(field: String) throws {
        #expect(
            try verdict("POST", "/a", allow: ["POST /a"], fields: "\n" + field)
                == .methodOrPathNotAllowed)
        #expect(try verdict("POST", "/a", fields: "\n" + field) == nil)
    }

    @Test(arguments: [
        "", "GET", "/a", "GET a", "get /a", "GET  /a", "GET /a ", "GET /a/**/b", "GET /a**",
        "GET /..",
        "GET /a//b", "GET /a?b", "GET /a%2fb", "GET /a;b", "GET, /a", "GET:/a", "G*T /a",
        "GET /a#b",
    ])
    func `that are none are refused at load`(rule: String) throws {
        #expect(!RouteSpec.isRule(rule))
        #expect(throws: RouteError.ruleInvalid(route: 0, rule: rule)) {
            try verdict("GET", "/", allow: [rule])
        }
    }

    @Test func `with many stars take no time to speak of`() throws {
        let rule = "GET /" + String(repeating: "a*", count: 100) + "b"
        let target = "/" + String(repeating: "a", count: 4000)
        #expect(try verdict("GET", target, allow: [rule]) == .methodOrPathNotAllowed)
    }
}

@Suite struct `Rules of a longer route` {
    /// What the route `/` says where another one leads to a part of the same API.
    private func verdict(
        _ target: String, besides path: String = "/v1/payments",
        to upstream: String = "https://api.example/v1/payments", _ change: (inout RouteSpec) -> Void
    ) throws -> AccessRefusal? {
        var longer = try RouteSpec.to(upstream, path: path)
        change(&longer)
        let table = try RouteTable([.to("https://api.example", path: "/"), longer])
        return try withRequest("POST \(target) HTTP/1.1\nHost: localhost") { head, target, bytes in
            guard let route = table.match(head, target, bytes) else { return .hostNotAllowed }
            return switch table.routes[route].plan.judge(head, target, bytes) {
            case .forward: nil
            case .refuse(let refusal): refusal
            }
        }
    }

    @Test(arguments: [
        "/v1//payments/1", "//v1/payments", "/v1/%70ayments/1", "/./v1/payments/1",
        "/x/../v1/payments/1", "/v1/payments;a/1", "/v1;a=b/payments/1", "/v1/payments%2f1",
        "/V1/payments/1", "/v1/Payments", "/v1%2fpayments/1", "/v1\\payments\\1",
        "/v1/%2570ayments/1", "/v1/%%370ayments/1", "/v1/%c1%b0ayments/1", "/v1/%e0%81%b0ayments",
        "/v1/%f0%80%81%b0ayments/", "/v1/payments%3b/1", "/x/..;/v1/payments/1", "/v1/payments%00",
    ])
    func `are not walked around by another spelling of its path`(target: String) throws {
        let rule = ["GET /**"]
        #expect(try verdict(target) { $0.allow = rule } == .pathAmbiguous)
        #expect(try verdict(target) { $0.deny = rule } == .pathAmbiguous)
        #expect(try verdict(target) { _ in } == nil, "there are no rules")
        let other = "https://other.example/v1/payments"
        #expect(try verdict(target, to: other) { $0.allow = rule } == nil, "another API")
        let moved = "https://api.example/v2"
        #expect(try verdict(target, to: moved) { $0.allow = rule } == nil, "another place of it")
        #expect(
            try verdict(target) {
                $0.allow = rule; $0.host = "a.localhost"
            } == nil)
    }

    @Test(arguments: ["/v1/paymentsx", "/v1/pay", "/v1//x", "/v2/%70ayments", "/", "/a;b/c%2fd"])
    func `leave the shorter one's own paths alone`(target: String) throws {
        #expect(try verdict(target) { $0.allow = ["GET /**"] } == nil)
    }

    @Test func `judge their own paths`() throws {
        #expect(
            try verdict("/v1/payments/1") { $0.allow = ["GET /**"] } == .methodOrPathNotAllowed)
        #expect(try verdict("/v1/payments/1") { $0.allow = ["POST /**"] } == nil)
    }
}

@Suite struct `Wishes for another protocol` {
    private func verdict(_ fields: String, upgrades: [String]? = nil, version: Int = 1) throws
        -> String
    {
        var spec = try RouteSpec.to("https://api.example")
        if let upgrades { spec.upgrades = upgrades }
        let plan = try RouteTable([spec]).routes[0].plan
        return try withRequest("GET /ws HTTP/1.\(version)\nHost: localhost\n\(fields)") {
            head, _, bytes in
            switch plan.upgrade(head, bytes) {
            case .none: "none"
            case .pass(let name): wireText(name.bytes(in: bytes))
            case .refuse: "refuse"
            }
        }
    }

    @Test(arguments: [
        ("Upgrade: websocket\nConnection: Upgrade", "websocket"),
        ("Connection: keep-alive, upgrade\nUpgrade: WebSocket", "WebSocket"),
        ("Connection: Upgrade\nUpgrade: h2c, websocket , foo", "websocket"),
        ("Connection: Upgrade\nUpgrade: h2c\nUpgrade: websocket", "websocket"),
        ("Upgrade: websocket", "none"), ("Connection: Upgrade", "none"),
        ("Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMA", "none"),
        ("Connection: Upgrade\nUpgrade: TLS/1.2, HTTP/2.0, h2c,", "none"),
        ("Connection: Upgrade\nUpgrade: spdy/3.1", "refuse"),
        ("Connection: Upgrade\nUpgrade: h2c, tcp", "refuse"),
    ])
    func `are passed on, ignored or refused (C051)`(fields: String, expected: String) throws {
        #expect(try verdict(fields) == expected)
    }

    @Test func `follow the route's list`() throws {
        let websocket = "Connection: Upgrade\nUpgrade: websocket"
        #expect(try verdict(websocket, upgrades: []) == "refuse")
        #expect(try verdict(websocket, upgrades: ["SPDY/3.1"]) == "refuse")
        #expect(
            try verdict("Connection: Upgrade\nUpgrade: spdy/3.1", upgrades: ["SPDY/3.1"])
                == "spdy/3.1")
        #expect(try verdict(websocket, version: 0) == "none")
    }

    @Test(arguments: ["h2c", "H2", "HTTP/2.0", "TLS/1.3", "", "a b", "a/b/c", "a/"])
    func `for HTTP itself cannot be configured (C052)`(name: String) {
        #expect(!RouteSpec.isUpgrade(name))
    }
}
