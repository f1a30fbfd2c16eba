import Bytes
import HTTPWire
import Testing
import Vocabulary

@testable import Routing

@Suite struct `Cookies for this proxy` {
    private func cookie(
        _ value: String, upstream: String = "https://api.example.com/base", path: String = "/local",
        isSecure: Bool = false
    ) throws -> String? {
        let rule = CookieRule(try RouteSpec.to(upstream, path: path))
        var output = ByteBuffer()
        let isRewritten = Array(value.utf8).withUnsafeBytes {
            rule.write($0, isSecure: isSecure, into: &output)
        }
        return isRewritten ? wireText(output.bytes) : nil
    }

    @Test func `lose what the upstream's domain and https gave them (C116)`() throws {
        let value =
            "sid=1; Domain=api.example.com; Path=/base/v1; Secure; HttpOnly; SameSite=None; Partitioned"
        #expect(try cookie(value) == "sid=1; Path=/local/v1; HttpOnly; SameSite=Lax")
        #expect(
            try cookie(value, isSecure: true)
                == "sid=1; Path=/local/v1; Secure; HttpOnly; SameSite=None; Partitioned")
    }

    @Test(arguments: [
        ("a=b", "a=b"), ("a=\"b c\";path=/base", "a=\"b c\"; Path=/local"),
        ("a=; PATH = /base/", "a=; Path=/local"), ("a=b; Path=/", "a=b; Path=/local"),
        ("a=b; Path=/based", "a=b; Path=/based"), ("a=b; Path=/bas", "a=b; Path=/bas"),
        ("a=b; Path=x", "a=b; Path=x"), ("a=b; Path", "a=b; Path"),
        ("a=b;domain=.x;;Max-Age=3", "a=b;;Max-Age=3"), ("domain=1; secure", "domain=1"),
        ("a=b; SameSite=Strict", "a=b; SameSite=Strict"), ("", ""), (";", ";"),
    ])
    func `keep all else`(value: String, expected: String) throws {
        #expect(try cookie(value) == expected)
    }

    @Test func `have paths of routes without a prefix or base`() throws {
        let plain = "https://api.example.com"
        #expect(try cookie("a=b; Path=/", upstream: plain, path: "") == "a=b; Path=/")
        #expect(try cookie("a=b; Path=/x", upstream: plain, path: "/p") == "a=b; Path=/p/x")
        #expect(try cookie("a=b; Path=/base", path: "") == "a=b; Path=/")
        #expect(
            try cookie("a=b; Path=/v1", upstream: "https://api.example.com/v1/x")
                == "a=b; Path=/local")
    }

    @Test func `that promise https or a whole host are left (C116)`() throws {
        for value in ["__Host-a=1; Path=/; Secure", "__HOST-a=1", " __Secure-a=1; Secure"] {
            #expect(try cookie(value) == nil)
        }
        #expect(try cookie("__Host-a=1; Path=/; Secure", isSecure: true) == nil)
        #expect(
            try cookie("__Secure-a=1; Path=/base; Secure", isSecure: true)
                == "__Secure-a=1; Path=/local; Secure")
    }

    @Test func `are rewritten where the route says so, each line by itself (C025)`() throws {
        var spec = try RouteSpec.to("https://api.example.com/base", path: "/local")
        let head = """
            HTTP/1.1 200 OK
            Set-Cookie: a=1; Path=/base
            X: y
            Set-Cookie: __Host-b=2; Path=/; Secure
            Content-Length: 0
            """
        #expect(try clientHead(of: head, through: spec).text.contains("a=1; Path=/base\n"))
        spec.rewritesCookies = true
        let text = try clientHead(of: head, through: spec).text
        #expect(
            text.contains("Set-Cookie: a=1; Path=/local\nSet-Cookie: __Host-b=2; Path=/; Secure\n"))
        #expect(!text.contains("/base"))
    }
}

@Suite struct `Fields of responses` {
    @Test func `are set and removed for the client`() throws {
        var spec = try RouteSpec.to("https://api.example.com")
        spec.setResponseFields = [("Cache-Control", "no-store")]
        spec.removedResponseFields = ["Server", "X-Internal"]
        let text = try clientHead(
            of: """
                HTTP/1.1 200 OK
                Server: x
                cache-control: public
                x-internal: 1
                X-Kept: 1
                Content-Length: 0
                """, through: spec
        ).text
        #expect(
            text == "HTTP/1.1 200 OK\nX-Kept: 1\nContent-Length: 0\nCache-Control: no-store\n")
    }

    @Test(arguments: ["Content-Length", "transfer-encoding", "Connection", "Upgrade"])
    func `that frame a message cannot be`(name: String) throws {
        var spec = try RouteSpec.to("https://api.example.com")
        spec.removedResponseFields = [name]
        #expect(throws: RouteError.fieldReserved(route: 0, name: name)) { try RouteTable([spec]) }
    }
}

@Suite struct `What is told of the caller` {
    private func head(_ fields: [CallerField], address: String, isSecure: Bool = false) throws
        -> String
    {
        var spec = try RouteSpec.to("https://api.example.com")
        spec.callerFields = fields
        let plan = try RouteTable([spec]).routes[0].plan
        return try withRequest(
            """
            GET / HTTP/1.1
            Host: localhost:8080
            X-Forwarded-For: 10.0.0.1
            X-Forwarded-Host: evil.example
            X-Forwarded-Proto: gopher
            """
        ) { head, target, bytes in
            var output = ByteBuffer()
            plan.writeRequest(
                head, target, bytes, framing: .none,
                caller: plan.tellsCaller ? Caller(address: address, isSecure: isSecure) : nil,
                into: &output)
            return wireText(output.bytes)
        }
    }

    @Test func `is nothing by default, and the client's own words pass`() throws {
        #expect(
            try head([], address: "127.0.0.1") == """
                GET / HTTP/1.1
                Host: api.example.com
                X-Forwarded-For: 10.0.0.1
                X-Forwarded-Host: evil.example
                X-Forwarded-Proto: gopher

                """)
    }

    @Test func `is added to lists and said once elsewhere`() throws {
        #expect(
            try head(CallerField.allCases, address: "::1", isSecure: true) == """
                GET / HTTP/1.1
                Host: api.example.com
                X-Forwarded-For: 10.0.0.1
                X-Forwarded-For: ::1
                X-Forwarded-Host: localhost:8080
                X-Forwarded-Proto: https
                Forwarded: for="[::1]";host="localhost:8080";proto=https
                Via: 1.1 credential-proxy

                """)
        #expect(
            try head([.forwarded], address: "127.0.0.1")
                .hasSuffix("Forwarded: for=127.0.0.1;host=\"localhost:8080\";proto=http\n"))
    }
}

@Suite struct `Credentials in the query` {
    private func spec(_ policy: ClientFieldPolicy = .replace) throws -> RouteSpec {
        try RouteSpec.to(
            "https://api.example.com",
            credential: RouteCredential(
                slot: CredentialSlot(0), parameter: "api_key", clientField: policy))
    }

    /// The request line with the credential where it would be put.
    private func line(_ target: String) throws -> String {
        let plan = try RouteTable([spec()]).routes[0].plan
        #expect(plan.injectsIntoTarget)
        return try withRequest("GET \(target) HTTP/1.1\nHost: localhost\nAuthorization: x") {
            head, target, bytes in
            var output = ByteBuffer()
            plan.writeRequest(head, target, bytes, framing: .none, into: &output)
            guard let parts = plan.split(output.bytes) else { return "none" }
            let separator = parts.separator.map { String(UnicodeScalar($0)) } ?? ""
            let text = wireText(parts.before) + separator + "api_key=S" + wireText(parts.behind)
            #expect(text.hasSuffix("\nHost: api.example.com\nAuthorization: x\n"))
            return String(text.prefix { $0 != "\n" })
        }
    }

    @Test(arguments: [
        ("/a", "/a?api_key=S"), ("/a?", "/a?api_key=S"), ("/a?b=c", "/a?b=c&api_key=S"),
        ("/a?b=c&", "/a?b=c&api_key=S"), ("/a?api_key=mine", "/a?api_key=S"),
        ("/a?api_key=mine&b=%26&api_key", "/a?b=%26&api_key=S"),
        ("/a?x=1&api%5Fkey=mine&API_KEY=2", "/a?x=1&API_KEY=2&api_key=S"),
        ("/a?xapi_key=1&api_keys=2&&c", "/a?xapi_key=1&api_keys=2&&c&api_key=S"),
        ("/a??api_key=1", "/a??api_key=1&api_key=S"), ("http://localhost", "/?api_key=S"),
    ])
    func `replace the client's and leave the rest`(target: String, expected: String) throws {
        #expect(try line(target) == "GET \(expected) HTTP/1.1")
    }

    @Test(arguments: [
        (
            "Location: https://api.example.com/t/?a=1&api_key=SEKRET",
            "Location: http://localhost:8080/p/t/?a=1"
        ),
        ("location: /t?api_key=SEKRET#x?y", "location: http://localhost:8080/p/t#x?y"),
        (
            "Location: https://other.example/?x&api%5fkey=SEKRET&y",
            "Location: https://other.example/?x&y"
        ),
        ("Location: next?api_key=SEKRET", "Location: next"),
        (
            "Location: https://api.example.com/t?b=/../c",
            "Location: http://localhost:8080/p/t?b=/../c"
        ),
        ("Content-Location: /t?api_key=SEKRET&b", "Content-Location: /t?b"),
        ("Refresh: 5; url=/t?api_key=SEKRET", "Refresh: 5; url=/t"),
        (
            "Link: </a?page=2&api_key=SEKRET>; rel=\"next\", <b?api_key=SEKRET&x>; title=\"c?d\"",
            "Link: </a?page=2>; rel=\"next\", <b?x>; title=\"c?d\""
        ),
        (
            "Location: https://login.example/?return_to=http%3A%2F%2Fa%2Fp%3Fa%3D1%26api_key%3DSEKRET&x=1",
            "Location: https://login.example/?x=1"
        ),
        ("Location: /in?to=%252Fp%253Fapi_key%253DSEKRET", "Location: http://localhost:8080/p/in"),
        ("Location: //c.example/?u=/p?a=1&api_key=SEKRET", "Location: //c.example/?u=/p?a=1"),
        (
            "Location: //c.example/?u=%2Fp%3Fapi_keys%3D1",
            "Location: //c.example/?u=%2Fp%3Fapi_keys%3D1"
        ),
        ("X-Other: ?api_key", "X-Other: ?api_key"),
    ])
    func `do not come back in URLs of a response`(field: String, expected: String) throws {
        var spec = try spec()
        spec.path = "/p"
        let head = "HTTP/1.1 301 Moved\nContent-Length: 0\n\(field)\nX: 1"
        let lines = try clientHead(of: head, through: spec).text.split(separator: "\n")
        #expect(lines.contains(Substring(expected)), "\(lines)")
        #expect(lines.count == 4 && !lines.joined().contains("SEKRET"))
        spec.rewritesLocation = false
        #expect(try !clientHead(of: head, through: spec).text.contains("SEKRET"))
        spec.removedResponseFields = ["Location", "Content-Location", "Refresh", "Link", "X-Other"]
        #expect(try clientHead(of: head, through: spec).text.split(separator: "\n").count == 3)
        spec.credential?.parameter = nil
        spec.removedResponseFields = []
        spec.rewritesLocation = false
        #expect(try clientHead(of: head, through: spec).text.contains(field))
    }

    @Test func `meet the client's own as the route says`() throws {
        for (policy, target, expected) in [
            (.keep, "/?api_key=1", .forward(withCredential: false)),
            (.keep, "/?b=1", .forward(withCredential: true)),
            (.refuse, "/?a&api_key", .refuse(.clientCredentialRefused)),
            (.refuse, "/?a", .forward(withCredential: true)),
        ] as [(ClientFieldPolicy, String, RouteVerdict)] {
            let plan = try RouteTable([spec(policy)]).routes[0].plan
            let verdict = try withRequest("GET \(target) HTTP/1.1\nHost: localhost") {
                plan.judge($0, $1, $2)
            }
            #expect(verdict == expected)
        }
    }
}
