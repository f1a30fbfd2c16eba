import Bytes
import LoopbackServer
import Testing
import Vocabulary

@testable import Demo

private func api(scopes: [String] = ["notes.read", "notes.write"]) -> DemoAPI {
    DemoAPI { token in
        switch text(token) {
        case "good": .good(scopes: scopes, secondsLeft: 3)
        case "old": .expired
        case "gone": .revoked
        default: .unknown
        }
    }
}

private func ask(
    _ api: DemoAPI, _ method: String, _ path: String, query: String = "",
    authorization: [String] = ["Bearer good"], body: String = ""
) throws -> ServerResponse {
    let request = ServerRequest(
        method: method, target: query.isEmpty ? path : "\(path)?\(query)", path: path,
        query: query.isEmpty ? nil : query,
        fields: authorization.map { ServerField("aUthorization", $0) }, body: Array(body.utf8))
    guard case .reply(let reply) = api.answer(to: request) else { throw NoReply() }
    return reply
}

private struct NoReply: Error {}

@Suite struct `Demo API` {
    @Test func `answers with a good token`() throws {
        let api = api()
        #expect(try ask(api, "GET", "/hello").object["message"]?.asRevealedString == "Hello, Ada.")
        #expect(try ask(api, "GET", "/v1/me").object["token_seconds_left"] == 3)
        let note = try ask(api, "POST", "/v1/notes", body: "a\n\u{E9}")
        #expect(note.status == 201)
        #expect(note.object["text"]?.asRevealedString == "a\n\u{E9}")
        #expect(note.object["bytes"] == 4)
        #expect(try ask(api, "GET", "/v1/notes").object["notes"]?.asArray?.count == 1)
        #expect(try ask(api, "GET", "/v1/x").status == 404)
        #expect(try ask(api, "DELETE", "/v1/notes").field("Allow") == "GET, POST")
    }

    @Test(
        arguments: [
            ([], 401, "Bearer realm=\"demo\""), (["Basic eDp5"], 401, "Bearer realm=\"demo\""),
            (
                ["Bearer old"], 401,
                "Bearer realm=\"demo\", error=\"invalid_token\", error_description=\"the token has expired\""
            ),
            (
                ["Bearer gone"], 401,
                "Bearer realm=\"demo\", error=\"invalid_token\", error_description=\"the token was revoked\""
            ),
            (
                ["bearer x"], 401,
                "Bearer realm=\"demo\", error=\"invalid_token\", error_description=\"the token is unknown\""
            ),
            (
                ["Bearer good", "Bearer good"], 400,
                "Bearer realm=\"demo\", error=\"invalid_request\", error_description=\"more than one Authorization field\""
            ),
        ] as [([String], Int, String)])
    func `challenges`(authorization: [String], status: Int, challenge: String) throws {
        let reply = try ask(api(), "GET", "/hello", authorization: authorization)
        #expect(reply.status == status)
        #expect(reply.field("WWW-Authenticate") == challenge)
    }

    @Test func `asks for the scope that is missing`() throws {
        let reply = try ask(api(scopes: ["notes.read"]), "POST", "/v1/notes", body: "x")
        #expect(reply.status == 403)
        #expect(reply.field("WWW-Authenticate")?.hasSuffix("scope=\"notes.write\"") == true)
    }

    @Test func `takes no note that is too large or no text`() throws {
        let api = api()
        let large = String(repeating: "x", count: DemoAPI.noteBytesMax + 1)
        #expect(try ask(api, "POST", "/v1/notes", body: large).status == 413)
        let request = ServerRequest(
            method: "POST", target: "/v1/notes", path: "/v1/notes",
            fields: [ServerField("Authorization", "Bearer good")], body: [0xFF])
        guard case .reply(let reply) = api.answer(to: request) else { throw NoReply() }
        #expect(reply.status == 400)
    }

    @Test func `streams events`() throws {
        let request = ServerRequest(
            method: "GET", target: "/events", path: "/events", query: "count=3&interval=10",
            fields: [ServerField("Authorization", "Bearer good")])
        guard case .events(let source) = api().answer(to: request) else { throw NoReply() }
        #expect(source.count == 3)
        #expect(source.intervalMilliseconds == 10)
        #expect(source.event(1) == "id: 1\nevent: tick\ndata: {\"number\":1,\"of\":3}\n\n")
    }

    @Test func `remembers what it saw, and no token`() throws {
        let api = api()
        _ = try ask(api, "GET", "/hello", query: "a=1")
        _ = try ask(api, "GET", "/hello", authorization: ["Bearer old"])
        _ = try ask(api, "GET", "/hello", authorization: [])
        let seen = api.seen
        #expect(seen.map(\.status) == [200, 401, 401])
        #expect(seen[0].target == "/hello?a=1")
        #expect(seen[0].tokenFingerprint?.count == 8)
        #expect(seen[0].tokenFingerprint != seen[1].tokenFingerprint)
        #expect(seen[2].tokenFingerprint == nil)
        #expect(seen.map(\.authorizationCount) == [1, 1, 0])
        #expect(!"\(seen)".contains("good"))
        for _ in 0..<DemoAPI.rememberedMax { _ = try ask(api, "GET", "/hello") }
        #expect(api.seen.count == DemoAPI.rememberedMax)
        #expect(api.requestCount == DemoAPI.rememberedMax + 3)
    }
}
