// An authorization server of few words: a script answers each request, and every request is kept.

import Bytes
import Synchronization
import Testing
import Vocabulary

/// Performs requests by asking a script.
final class ScriptedFetcher: Fetching {
    /// - Parameter number: 1 for the first request.
    typealias Script =
        @Sendable (_ request: OutboundRequest, _ number: Int) async -> Result<
            InboundResponse, FetchError
        >

    private let requests = Mutex<[OutboundRequest]>([])
    private let script: Mutex<Script>

    init(_ script: @escaping Script = { _, _ in .failure(.connectionRefused(host: "none")) }) {
        self.script = Mutex(script)
    }

    /// Answers in this order; the last one again and again.
    convenience init(_ answers: [Result<InboundResponse, FetchError>]) {
        self.init { _, number in answers[min(number, answers.count) - 1] }
    }

    /// A provider with metadata: the members besides issuer, authorization and token endpoint; and what
    /// answers a request to one of its other paths.
    convenience init(
        metadata members: String,
        _ script:
            @escaping @Sendable (_ path: String, _ request: OutboundRequest) async -> Result<
                InboundResponse, FetchError
            >
    ) {
        let base = "https://login.example.com"
        let document =
            #"{"issuer":"\#(base)","authorization_endpoint":"\#(base)/authorize","#
            + #""token_endpoint":"\#(base)/token"\#(members.isEmpty ? "" : ",")\#(members)}"#
        self.init { request, _ in
            guard request.method == .post else { return .json(200, document) }
            return await script(String(request.url.dropFirst(base.count)), request)
        }
    }

    func answer(_ script: @escaping Script) { self.script.withLock { $0 = script } }

    func fetch(_ request: OutboundRequest) async throws(FetchError) -> InboundResponse {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count
        }
        let script = script.withLock { $0 }
        return try await script(request, number).get()
    }

    var count: Int { requests.withLock { $0.count } }

    /// The forms that were posted, in order.
    var forms: [[String: String]] {
        requests.withLock { $0 }.compactMap { request in
            guard let body = request.body else { return nil }
            return form(reveal(body))
        }
    }

    /// The bodies that were posted, in order.
    var bodies: [String] { requests.withLock { $0 }.compactMap { $0.body.map(reveal) } }

    /// The refresh tokens that were spent, in order.
    var spent: [String] { forms.compactMap { $0["refresh_token"] } }

    var urls: [String] { requests.withLock { $0 }.map(\.url) }

    var certificates: [ClientCertificate?] {
        requests.withLock { $0 }.map(\.clientCertificate)
    }

    func fields(_ number: Int) -> [String: String] {
        let fields = requests.withLock { $0[number - 1] }.fields
        return Dictionary(fields.map { ($0.name, reveal($0.value)) }) { first, _ in first }
    }
}

func reveal(_ secret: SecretBytes) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
}

private func form(_ text: String) -> [String: String] {
    let pairs = text.split(separator: "&").map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
        return (parts[0], parts.count > 1 ? decoded(parts[1]) : "")
    }
    return Dictionary(pairs) { first, _ in first }
}

private func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == 0x25, rest.count >= 2 {
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte == 0x2B ? 0x20 : byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

extension Result where Success == InboundResponse, Failure == FetchError {
    static func json(
        _ status: Int, _ text: String, _ fields: [(name: String, value: String)] = []
    ) -> Self {
        .success(
            InboundResponse(
                status: status, fields: [("Content-Type", "application/json")] + fields,
                body: SecretBytes(text)))
    }

    /// A good answer of a token endpoint.
    static func tokens(
        _ access: String, refresh: String? = nil, expiresIn: Int? = 300
    ) -> Self {
        var text = #"{"access_token":"\#(access)","token_type":"Bearer""#
        if let refresh { text += #","refresh_token":"\#(refresh)""# }
        if let expiresIn { text += #","expires_in":\#(expiresIn)"# }
        return .json(200, text + "}")
    }

    static func error(_ code: String, status: Int = 400) -> Self {
        .json(status, #"{"error":"\#(code)"}"#)
    }

    static func page(_ status: Int, _ fields: [(name: String, value: String)] = []) -> Self {
        .success(
            InboundResponse(
                status: status, fields: [("Content-Type", "text/html")] + fields,
                body: SecretBytes("<html>no</html>")))
    }
}
