import HTTPWire
import Testing

@Suite struct `Challenges` {
    /// One challenge in short: scheme, then its blob or its parameters.
    private func read(_ value: String) -> [String]? {
        Array(value.utf8).withUnsafeBytes { bytes in
            var reader = ChallengeReader(bytes)
            var found: [String] = []
            do throws(WireError) {
                while let challenge = try reader.next() {
                    let parameters = challenge.parameters.map { "\($0.name)=\($0.value)" }
                    found.append(
                        ([challenge.scheme] + (challenge.token68.map { ["[\($0)]"] } ?? parameters))
                            .joined(separator: " | "))
                }
            } catch {
                #expect(error == .invalidChallenge)
                return nil
            }
            return found
        }
    }

    @Test(arguments: [
        ("Bearer", ["bearer"]),
        ("Bearer realm=\"x\"", ["bearer | realm=x"]),
        (
            "Bearer realm=\"x\", error=\"invalid_token\", error_description=\"It, expired\"",
            ["bearer | realm=x | error=invalid_token | error_description=It, expired"]
        ),
        (
            "Basic realm=a, Bearer error=\"invalid_token\"",
            ["basic | realm=a", "bearer | error=invalid_token"]
        ),
        ("Negotiate, Basic realm=\"\"", ["negotiate", "basic | realm="]),
        ("Negotiate YII+/=, NTLM", ["negotiate | [YII+/=]", "ntlm"]),
        ("Negotiate YII==", ["negotiate | [YII==]"]),
        (
            "DPoP algs=\"ES256 PS256\", error=\"use_dpop_nonce\"",
            ["dpop | algs=ES256 PS256 | error=use_dpop_nonce"]
        ),
        (
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            ["newauth | realm=apps | type=1 | title=Login to \"apps\"", "basic | realm=simple"]
        ),
        (" ,, Bearer  realm = \"x\" ,\t, error =\t\"y\" , ", ["bearer | realm=x | error=y"]),
        ("Bearer REALM=X", ["bearer | realm=X"]),
        ("", []), (" , ,", []),
        // What servers send although they should not.
        ("Bearer realm=\"x\" error=\"y\"", ["bearer | realm=x | error=y"]),
        (
            "Bearer resource_metadata=https://a.example/.well-known/x?y=z, scope=a:b",
            ["bearer | resource_metadata=https://a.example/.well-known/x?y=z | scope=a:b"]
        ),
        ("Bearer error=x, realm=, a=b", ["bearer | error=x | realm= | a=b"]),
    ])
    func `lists are read with their two kinds of comma`(value: String, expected: [String]) {
        #expect(read(value) == expected)
    }

    @Test(arguments: [
        "=", "\"x\"", "Bearer realm=\"x", "Bearer realm=\"x\\", "Bearer realm=\"x\"error=\"y\"",
        "Bearer =x", "Bearer a b", "Bearer realm=x y", "Bearer a=b\u{1}c", "Bearer a=\"b\u{1}\"",
        "Bearer a=b\"c\"", "B\u{e9}arer a=b", "Bearer, a=b", "Bearer , a=b", "Bearer\u{b}a=b",
        "Bearer a=b;c d",
    ])
    func `that cannot be understood is an error`(value: String) {
        #expect(read(value) == nil)
    }

    @Test func `truncated anywhere is read in part or refused`() {
        let value = "Basic realm=\"a\\\"b\", Negotiate YII==, Bearer error=\"x\", scope=\"a b\""
        let bytes = Array(value.utf8)
        for count in 0...bytes.count {
            _ = read(String(decoding: bytes[..<count], as: UTF8.self))
        }
        #expect(read(value)?.count == 3)
    }

    @Test func `of all fields of a head come in order`() throws {
        let challenges = try challenges(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nX: Digest b=c\r\n"
                + "www-authenticate: Bearer error=\"invalid_token\", error=\"again\"\r\n"
                + "Content-Length: 0\r\n\r\n"
        ).get()
        #expect(challenges.map(\.scheme) == ["basic", "bearer"])
        #expect(challenges[1].parameter("error") == "invalid_token")
        #expect(challenges[1].parameter("scope") == nil)
    }

    @Test(arguments: [
        "Basic realm=foo bar, Bearer error=\"x\"",
        "Basic realm=foo bar\r\nWWW-Authenticate: Bearer error=\"x\"",
        "=, Bearer error=\"x\", Basic realm=\"", "Bearer error=\"x\"\r\nWWW-Authenticate: \"",
        "Basic realm=foo bar, charset=\"UTF-8\", Bearer error=\"x\"",
    ])
    func `that cannot be read hides no other`(value: String) throws {
        let found = try challenges("HTTP/1.1 401 No\r\nWWW-Authenticate: \(value)\r\n\r\n").get()
        #expect(found.filter { $0.scheme == "bearer" }.map { $0.parameter("error") } == ["x"])
    }

    @Test(arguments: [
        ("Basic realm=foo bar", ["basic"]), ("Bearer a=b c, =, \"x", ["bearer"]),
        ("Bearer realm=My API, error=\"x\", Basic realm=\"y\"", ["bearer", "basic"]),
        ("Basic realm=\"x\", Bearer realm=\"unended", ["basic", "bearer"]),
        ("=x, Basic;a=b, DPoP", ["dpop"]),
    ])
    func `that cannot be read to their end count by their beginning`(
        value: String, schemes: [String]
    ) throws {
        let found = try challenges("HTTP/1.1 401 No\r\nWWW-Authenticate: \(value)\r\n\r\n").get()
        #expect(found.map(\.scheme) == schemes)
    }

    @Test(arguments: ["=,=", "\"", "Bearer;a=b"])
    func `of which none can be read is an error`(value: String) {
        #expect(
            challenges("HTTP/1.1 401 No\r\nWWW-Authenticate: \(value)\r\n\r\n")
                == .failure(.invalidChallenge))
    }

    @Test(arguments: ["Basic, ", "Basic a=b, "])
    func `has a limit in number`(part: String) throws {
        func message(_ count: Int) -> String {
            "HTTP/1.1 401 No\r\nWWW-Authenticate: \(String(repeating: part, count: count))\r\n\r\n"
        }
        #expect(try challenges(message(64)).get().count == 64)
        #expect(challenges(message(65)) == .failure(.tooManyChallengeParts(limit: 64)))
    }

    @Test func `has a limit of parameters`() throws {
        func message(_ count: Int) -> String {
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer "
                + String(repeating: "a=b, ", count: count) + "\r\n\r\n"
        }
        #expect(try challenges(message(64)).get().map(\.parameters.count) == [64])
        #expect(challenges(message(65)) == .failure(.tooManyChallengeParts(limit: 64)))
    }

    private func challenges(_ message: String) -> Result<[Challenge], WireError> {
        var parser = HeadParser()
        var head = MessageHead()
        return Array(message.utf8).withUnsafeBytes { bytes in
            do throws(WireError) {
                _ = try parser.response(in: bytes, into: &head)
                return .success(try head.challenges(in: bytes))
            } catch {
                return .failure(error)
            }
        }
    }
}
