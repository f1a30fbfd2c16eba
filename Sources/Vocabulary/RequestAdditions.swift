// What a client adds to its requests besides what the flow itself says: parameters and header fields
// whose values stand in the configuration, or are read or made when the request is sent.

/// Where a value comes from.
package enum ValueSource: Equatable, Sendable {
    case text(String)
    /// Read, or made by a program, for each request anew.
    case secret(SecretSource)
}

/// A value with its name.
package struct NamedValue: Equatable, Sendable {
    package var name: String
    package var value: ValueSource

    package init(_ name: String, _ value: ValueSource) {
        self.name = name
        self.value = value
    }

    package init(_ name: String, _ text: String) { self.init(name, .text(text)) }
}

/// Additions to one kind of request.
package struct RequestAdditions: Equatable, Sendable {
    /// What an added field may not be called, in lower case: what a request's head says itself, or
    /// what would change where it ends.
    package static let reservedFields: Set<String> = [
        "accept", "authorization", "connection", "content-encoding", "content-length",
        "content-type", "dpop", "expect", "host", "keep-alive", "proxy-authorization", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]

    package var parameters: [NamedValue]
    /// Header fields.
    package var fields: [NamedValue]

    package init(parameters: [NamedValue] = [], fields: [NamedValue] = []) {
        self.parameters = parameters
        self.fields = fields
    }

    /// These, with those of the same name replaced by `other`'s.
    package func overridden(by other: RequestAdditions) -> RequestAdditions {
        func merged(_ mine: [NamedValue], _ theirs: [NamedValue]) -> [NamedValue] {
            mine.filter { one in !theirs.contains { $0.name == one.name } } + theirs
        }
        return RequestAdditions(
            parameters: merged(parameters, other.parameters), fields: merged(fields, other.fields))
    }
}

/// The requests that additions can be made to.
package enum RequestKind: String, CaseIterable, Sendable {
    /// A URL for a browser: parameters only.
    case authorization
    /// The same parameters, posted (RFC 9126).
    case pushedAuthorization
    /// Every token request, refreshes and polls included.
    case token
    /// Refreshes alone, besides what goes with every token request.
    case refresh
    /// The request for a device's code (RFC 8628 section 3.1).
    case device
    case revocation
}

extension OAuthSettings {
    /// What goes with a request of that kind.
    package func additions(to kind: RequestKind) -> RequestAdditions {
        let own = additions[kind] ?? RequestAdditions()
        switch kind {
        case .refresh: return (additions[.token] ?? RequestAdditions()).overridden(by: own)
        case .pushedAuthorization:
            var all = additions[.authorization] ?? RequestAdditions()
            all.fields = own.fields
            return all
        case .authorization, .token, .device, .revocation: return own
        }
    }
}
