// Reads what is added to a client's requests: parameters and header fields, each a text or a place
// where its value is read or made when the request is sent. What a request says itself cannot be set.

import Routing
import Vocabulary

struct AdditionsReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    private static let parameterKeys: [(key: String, kind: RequestKind)] = [
        ("authorization_params", .authorization), ("token_params", .token),
        ("refresh_params", .refresh), ("device_params", .device),
        ("revocation_params", .revocation),
    ]
    private static let fieldKeys: [(key: String, kind: RequestKind)] = [
        ("par_headers", .pushedAuthorization), ("token_headers", .token),
        ("refresh_headers", .refresh), ("device_headers", .device),
        ("revocation_headers", .revocation),
    ]
    static let keys = (parameterKeys + fieldKeys).map(\.key)

    func additions() -> [RequestKind: RequestAdditions] {
        var additions: [RequestKind: RequestAdditions] = [:]
        for (key, kind) in Self.parameterKeys where mapping.has(key) {
            additions[kind, default: RequestAdditions()].parameters = values(key) { name in
                parameterProblem(name, Self.reserved(in: kind))
            }
        }
        for (key, kind) in Self.fieldKeys where mapping.has(key) {
            additions[kind, default: RequestAdditions()].fields = values(key, fieldProblem)
        }
        return additions
    }

    private func values(
        _ key: String, _ problem: (String) -> (text: String, hint: String?)?
    ) -> [NamedValue] {
        guard let node = mapping.node(key) else { return [] }
        guard case .mapping(let entries) = node.content else {
            problems.add(
                node.place, "\(quoted(key)) must be a mapping, and this is \(node.kind)",
                hint: "write \(key): { name: value }")
            return []
        }
        return entries.compactMap { entry in
            if let problem = problem(entry.key) {
                problems.add(entry.value.place, problem.text, hint: problem.hint)
                return nil
            }
            return value(entry).map { NamedValue(entry.key, $0) }
        }
    }

    private func value(_ entry: YAMLNode.Entry) -> ValueSource? {
        if case .mapping = entry.value.content {
            return SecretReader(problems, paths).source(entry.value, entry.key).map { .secret($0) }
        }
        return ValueReader(problems).text(entry.value, entry.key).map { .text($0.value) }
    }

    // MARK: Names

    private static func reserved(in kind: RequestKind) -> Set<String> {
        switch kind {
        case .authorization, .pushedAuthorization: reservedInAuthorization
        case .token, .refresh, .device: reservedInToken
        case .revocation: reservedInToken.union(["token", "token_type_hint"])
        }
    }

    /// Parameters that the login makes itself; one given twice would be two answers to one question.
    private static let reservedInAuthorization: Set<String> = [
        "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce",
        "code_challenge", "code_challenge_method", "request", "request_uri", "client_secret",
        "dpop_jkt",
    ]
    private static let reservedInToken: Set<String> = [
        "grant_type", "code", "redirect_uri", "client_id", "client_secret", "code_verifier",
        "refresh_token", "client_assertion", "client_assertion_type", "scope", "device_code",
        "assertion", "subject_token", "subject_token_type", "actor_token", "actor_token_type",
        "requested_token_type",
    ]
    private static let keyForParameter = [
        "scope": "scopes", "client_id": "client_id", "client_secret": "client_secret",
        "redirect_uri": "redirect_uri", "response_mode": "response_mode",
    ]

    private func parameterProblem(
        _ name: String, _ reserved: Set<String>
    ) -> (text: String, hint: String?)? {
        if name.isEmpty { return ("a parameter has no name", nil) }
        guard reserved.contains(name) else { return nil }
        return (
            "the parameter \(quoted(name)) is made anew for each request and cannot be set",
            Self.keyForParameter[name].map { "use the key \($0)" }
        )
    }

    private func fieldProblem(_ name: String) -> (text: String, hint: String?)? {
        guard RouteSpec.isFieldName(name) else {
            return ("\(quoted(name)) is no name of a header field", nil)
        }
        guard RequestAdditions.reservedFields.contains(name.lowercased()) else { return nil }
        return ("the header \(quoted(name)) is made anew for each request and cannot be set", nil)
    }
}
