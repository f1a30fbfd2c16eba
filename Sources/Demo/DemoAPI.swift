// The demo's API without its sockets: a few endpoints behind a bearer token (RFC 6750), which it has
// judged by the authorization server on every request. It keeps what it saw for the tour to tell.

import Bytes
import Crypto
import LoopbackServer
import Synchronization
import Vocabulary

/// A request as the API saw it.
package struct SeenRequest: Hashable, Sendable {
    package let method: String
    /// Path and query.
    package let target: String
    package let status: Int
    /// The first letters of the token's digest, to tell tokens apart without showing them; nil
    /// where no token came.
    package let tokenFingerprint: String?
    /// How many Authorization fields came.
    package let authorizationCount: Int
}

/// What is sent after the head of `/events`, piece by piece.
struct EventSource: Sendable {
    let count: Int
    let intervalMilliseconds: UInt64

    /// One event (WHATWG HTML, server-sent events).
    func event(_ number: Int) -> String {
        "id: \(number)\nevent: tick\ndata: {\"number\":\(number),\"of\":\(count)}\n\n"
    }
}

final class DemoAPI: Sendable {
    enum Answer {
        case reply(ServerResponse)
        case events(EventSource)
    }

    /// What is remembered of requests and notes; the oldest are forgotten first.
    static let rememberedMax = 1000
    static let noteBytesMax = 64 << 10

    private struct Memory {
        var seen: [SeenRequest] = []
        var requestCount = 0
        var notes: [JSONValue] = []
        var noteCount = 0
    }

    private let memory = Mutex(Memory())
    private let standing: @Sendable (SecretBytes) -> TokenStanding

    init(standing: @escaping @Sendable (SecretBytes) -> TokenStanding) {
        self.standing = standing
    }

    /// The newest last, at most `rememberedMax`.
    var seen: [SeenRequest] { memory.withLock { $0.seen } }
    var requestCount: Int { memory.withLock { $0.requestCount } }

    func answer(to request: ServerRequest) -> Answer {
        let (token, authorizationCount) = Self.bearer(request)
        let answer = judge(request, token, authorizationCount)
        let status =
            switch answer {
            case .reply(let reply): reply.status
            case .events: 200
            }
        note(request, status, token, authorizationCount)
        return answer
    }

    // MARK: Tokens

    /// The token of the one Authorization field, if that is what came.
    static func bearer(_ request: ServerRequest) -> (token: SecretBytes?, count: Int) {
        let values = request.fields.filter { $0.name.lowercased() == "authorization" }.map(\.value)
        guard values.count == 1, values[0].lowercased().hasPrefix("bearer ") else {
            return (nil, values.count)
        }
        return (SecretBytes(String(values[0].dropFirst(7))), 1)
    }

    private func judge(
        _ request: ServerRequest, _ token: SecretBytes?, _ authorizationCount: Int
    ) -> Answer {
        guard let token else {
            guard authorizationCount < 2 else {
                return .reply(
                    refusal(400, error: "invalid_request", "more than one Authorization field"))
            }
            // No error code without a token (RFC 6750 section 3.1).
            return .reply(refusal(401, error: nil, "a bearer token is required"))
        }
        switch standing(token) {
        case .good(let scopes, let secondsLeft):
            return route(request, scopes: scopes, secondsLeft: secondsLeft)
        case .expired: return .reply(refusal(401, error: "invalid_token", "the token has expired"))
        case .revoked: return .reply(refusal(401, error: "invalid_token", "the token was revoked"))
        case .unknown: return .reply(refusal(401, error: "invalid_token", "the token is unknown"))
        }
    }

    private func refusal(
        _ status: Int, error: String?, _ explanation: String, scope: String? = nil
    ) -> ServerResponse {
        var challenge = "Bearer realm=\"demo\""
        if let error { challenge += ", error=\"\(error)\", error_description=\"\(explanation)\"" }
        if let scope { challenge += ", scope=\"\(scope)\"" }
        return .json(
            ["error": .string(error ?? "unauthorized"), "message": .string(explanation)],
            status: status, fields: [ServerField("WWW-Authenticate", challenge)])
    }

    // MARK: Endpoints

    private func route(_ request: ServerRequest, scopes: [String], secondsLeft: Int64) -> Answer {
        func needs(_ scope: String, _ body: () -> Answer) -> Answer {
            guard scopes.contains(scope) else {
                return .reply(
                    refusal(403, error: "insufficient_scope", "not allowed", scope: scope))
            }
            return body()
        }
        // The server keeps the body of an answer to HEAD.
        let method = request.method == "HEAD" ? "GET" : request.method
        switch (method, request.path) {
        case ("GET", "/hello"):
            return .reply(.json(["message": .string("Hello, \(AuthorizationDesk.person).")]))
        case ("GET", "/v1/me"):
            return .reply(
                .json([
                    "name": .string(AuthorizationDesk.person),
                    "scopes": .array(scopes.map { .string($0) }),
                    "token_seconds_left": .number(JSONNumber(secondsLeft)),
                ]))
        case ("GET", "/v1/notes"):
            return needs("notes.read") {
                .reply(.json(["notes": .array(memory.withLock { $0.notes })]))
            }
        case ("POST", "/v1/notes"):
            return needs("notes.write") { .reply(takeNote(request.body)) }
        case ("GET", "/events"):
            return .events(events(request.query))
        case (_, "/hello"), (_, "/v1/me"), (_, "/events"):
            return .reply(.methodNotAllowed("GET"))
        case (_, "/v1/notes"):
            return .reply(.methodNotAllowed("GET, POST"))
        default:
            return .reply(.json(["error": "not_found", "message": "nothing here"], status: 404))
        }
    }

    /// Echoes the body, with its size and digest so that a client can see that it came whole.
    private func takeNote(_ body: [UInt8]) -> ServerResponse {
        guard body.count <= DemoAPI.noteBytesMax else {
            return .json(
                ["error": "too_large", "message": "a note is at most 64 KiB"], status: 413)
        }
        guard let text = String(validating: body, as: UTF8.self) else {
            return .json(["error": "not_text", "message": "a note is UTF-8 text"], status: 400)
        }
        let digest = hexadecimal(Digest.sha256(body))
        let note = memory.withLock { memory in
            memory.noteCount += 1
            let note: JSONValue = [
                "id": .number(JSONNumber(Int64(memory.noteCount))), "text": .string(text),
                "bytes": .number(JSONNumber(Int64(body.count))), "sha256": .string(digest),
            ]
            memory.notes.append(note)
            if memory.notes.count > 16 { memory.notes.removeFirst() }
            return note
        }
        return .json(note, status: 201)
    }

    /// `?count=5&interval=500`, the interval in milliseconds.
    private func events(_ query: String?) -> EventSource {
        func number(_ name: String, _ range: ClosedRange<Int>, _ standard: Int) -> Int {
            let pair = (query ?? "").split(separator: "&").first { $0.hasPrefix(name + "=") }
            let value = pair.flatMap { Int($0.dropFirst(name.count + 1)) } ?? standard
            return min(max(value, range.lowerBound), range.upperBound)
        }
        return EventSource(
            count: number("count", 1...1000, 5),
            intervalMilliseconds: UInt64(number("interval", 0...60_000, 500)))
    }

    // MARK: Memory

    private func note(
        _ request: ServerRequest, _ status: Int, _ token: SecretBytes?, _ authorizationCount: Int
    ) {
        let fingerprint = token.map { token in
            String(hexadecimal(token.withBytes { Digest.sha256($0) }).prefix(8))
        }
        let seen = SeenRequest(
            method: request.method,
            target: request.target, status: status, tokenFingerprint: fingerprint,
            authorizationCount: authorizationCount)
        memory.withLock { memory in
            memory.requestCount += 1
            memory.seen.append(seen)
            if memory.seen.count > DemoAPI.rememberedMax { memory.seen.removeFirst() }
        }
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
