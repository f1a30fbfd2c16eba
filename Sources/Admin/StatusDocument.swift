// The facts as JSON: `/status.json` whole, `/readyz` as far as readiness goes. The members of a credential
// are those of `proxy status --json`.

package import Vocabulary

extension StatusFacts {
    /// Whether every credential has a token or a way to one, and new requests are taken.
    package var isReady: Bool { !isDraining && credentials.allSatisfy(\.state.isReady) }

    /// Whether it is ready as far as one credential matters; nil for a name that there is not.
    package func isReady(for name: String) -> Bool? {
        credentials.first { $0.name == name }.map { !isDraining && $0.state.isReady }
    }

    /// The same as long as nothing has changed, whatever the time.
    package var revision: String {
        let text = JSONWriter.redactedText(content)
        // FNV-1a: it tells apart, it protects nothing.
        let sum = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0100_0000_01B3
        }
        return String(sum, radix: 16)
    }

    package var document: JSONValue {
        guard case .object(let members) = content else { preconditionFailure("it is made so") }
        return .object(
            JSONObject(
                [
                    .init(name: "now", value: .number(JSONNumber(now.seconds))),
                    .init(name: "revision", value: .string(revision)),
                ] + members.members))
    }

    private var content: JSONValue {
        [
            "version": .string(version), "started_at": .number(JSONNumber(startedAt.seconds)),
            "ready": .bool(isReady), "draining": .bool(isDraining),
            "listening": .array(addresses.map { .string($0) }),
            "configuration_problems": .array(configurationProblems.map { .string($0) }),
            "credentials": .array(credentials.map(\.whole)),
            "routes": .array(routes.map(\.document)),
            "requests": .array(requests.map(\.document)),
        ]
    }

    /// Why the proxy is ready or not, credential by credential.
    package var readiness: JSONValue {
        [
            "ready": .bool(isReady), "draining": .bool(isDraining),
            "credentials": .array(
                credentials.map { credential in
                    [
                        "name": .string(credential.name),
                        "state": .string(credential.state.rawValue),
                        "usable": .bool(credential.state == .usable),
                        "renewable": .bool(credential.isRenewable),
                        "reason": text(credential.state.isReady ? nil : credential.reason),
                        "hint": text(credential.state.isReady ? nil : credential.hint),
                    ]
                }),
        ]
    }
}

extension CredentialFacts {
    /// Why it is not ready, in words.
    package var reason: String {
        detail ?? lastError ?? StateWords(self).label.lowercased()
    }

    fileprivate var whole: JSONValue {
        guard case .object(var members) = document else { return document }
        members["pending_login"] =
            pendingLogin.map { ["url": .string($0.url), "user_code": text($0.userCode)] } ?? .null
        return .object(members)
    }
}

extension RouteFacts {
    fileprivate var document: JSONValue {
        var members: [JSONObject.Member] = [
            .init(name: "route", value: .string(name)),
            .init(name: "upstream", value: .string(upstream)),
            .init(name: "credential", value: text(credential)),
        ]
        if let traffic {
            members += [
                .init(name: "requests", value: number(traffic.requests)),
                .init(name: "errors", value: number(traffic.errors)),
                .init(
                    name: "median_milliseconds",
                    value: traffic.medianMilliseconds.map(number) ?? .null),
                .init(
                    name: "p95_milliseconds", value: traffic.slowMilliseconds.map(number) ?? .null),
                .init(
                    name: "recent",
                    value: .array(
                        traffic.buckets.map { .array([number($0.requests), number($0.errors)]) })),
            ]
        }
        return .object(JSONObject(members))
    }
}

extension RequestFacts {
    fileprivate var document: JSONValue {
        [
            "at": .number(JSONNumber(at.seconds)), "method": .string(method),
            "path": .string(path), "status": .number(JSONNumber(Int64(status))),
            "milliseconds": number(milliseconds),
            "answered_by": .string(code == nil ? "upstream" : "proxy"), "code": text(code),
            "id": .string(id), "cut": .bool(isCut),
        ]
    }
}

private func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }

private func number(_ value: UInt64) -> JSONValue { .number(JSONNumber(Int64(clamping: value))) }
