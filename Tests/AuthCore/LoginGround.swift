// What logins are tested on: a scripted provider, a store of its own and a clock that stands still.

import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

/// Runs the body on a thread of its own, so that it may block in system calls.
func blocking(_ body: () async throws -> Void) async rethrows {
    try await withTaskExecutorPreference(OwnThreadExecutor.shared, operation: body)
}

extension Ground {
    func desk(
        _ settings: OAuthSettings = Ground.settings, person: PersonPresence = .absent
    ) -> LoginDesk {
        LoginDesk(
            [CredentialSettings(id: github, kind: .oauth(settings))], person: person,
            discovery: DiscoveryDesk(in: surroundings), in: surroundings)
    }

    /// A script in a browser's place, which notes the URL that it is given.
    func browser() throws -> [String] {
        [try directory.writeScript(#"echo "$1" >> "\#(directory.path("opened"))""#, to: "browser")]
    }

    /// The URLs that were opened.
    var opened: [String] {
        let text = (try? Files.read(directory.path("opened")))??.text ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}

/// What a person sees of a login's URL.
struct LoginPage {
    let parameters: [String: String]

    init(_ url: String) {
        let query = url.split(separator: "?", maxSplits: 1).last.map(String.init) ?? ""
        var parameters: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            parameters[parts[0]] = parts.count > 1 ? percentDecoded(parts[1]) : ""
        }
        self.parameters = parameters
    }

    var state: String { parameters["state"] ?? "" }
    var redirect: WebURL { get throws { try WebURL(parameters["redirect_uri"] ?? "") } }

    /// The path and query that the provider sends the browser to.
    func target(_ query: String) throws -> String { "\(try redirect.path)?\(query)" }
    func success(code: String = "C1") throws -> String { try target("code=\(code)&state=\(state)") }

    /// Plays the browser.
    @discardableResult
    func visit(
        _ target: String, method: String = "GET", fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        try RawClient(to: try redirect.origin.port).exchange(method, target, fields: fields)
    }
}

func percentDecoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        guard byte == 0x25, rest.count >= 2 else {
            bytes.append(byte)
            continue
        }
        bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
        rest = rest.dropFirst(2)
    }
    return String(decoding: bytes, as: UTF8.self)
}

extension LoginSession {
    var page: LoginPage { LoginPage(url) }

    /// The failure that it ends with.
    func failure() async throws -> LoginFailure {
        try await #require(throws: LoginFailure.self) { try await result() }
    }
}
