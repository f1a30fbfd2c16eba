// The newest nonce of each server that proofs of one login go to (RFC 9449 section 8.2), and how it is
// written into the login's record. An authorization server and a resource never share one, even at one
// address.

import Bytes
import OAuth
import Vocabulary

/// By server. A value; whoever holds it keeps it.
struct ServerNonces: Sendable, Equatable {
    /// What a server is asked as.
    enum Role: String, Sendable {
        case authorizationServer = "as"
        case resource = "rs"
    }

    struct Entry: Sendable, Equatable {
        /// Nil where the server answered without one so far.
        var value: String?
        var at: WallTime
    }

    private(set) var entries: [String: Entry] = [:]

    /// Servers of one login; more would be a mistake of somebody's.
    private static let entriesMax = 8
    /// A nonce that is older may have been replaced: servers give them a few minutes.
    static let freshSeconds: Int64 = 60

    init() {}

    private static func name(_ url: String, _ role: Role) -> String? {
        (try? WebURL(url)).map { "\(role.rawValue) \($0.origin)" }
    }

    func nonce(for url: String, _ role: Role) -> String? {
        Self.name(url, role).flatMap { entries[$0]?.value }
    }

    /// Keeps what an answer brought, whatever its status. One without a nonce takes nothing away.
    mutating func note(
        _ response: InboundResponse, from url: String, _ role: Role, at now: WallTime
    ) {
        guard let name = Self.name(url, role) else { return }
        if let value = ProofNonce.value(in: response) {
            entries[name] = Entry(value: value, at: now)
        } else if entries[name] == nil {
            entries[name] = Entry(value: nil, at: now)
        }
        while entries.count > Self.entriesMax,
            let oldest = entries.min(by: { $0.value.at < $1.value.at })
        {
            entries[oldest.key] = nil
        }
    }

    /// Whether a request that spends something needs another one before it: nothing is known of the
    /// server, or its nonce is old. A server that gives none is not asked for one.
    func isStale(for url: String, _ role: Role, at now: WallTime) -> Bool {
        guard let name = Self.name(url, role), let entry = entries[name] else { return true }
        guard entry.value != nil else { return false }
        let age = now.seconds.subtractingReportingOverflow(entry.at.seconds)
        return age.overflow || !(0..<Self.freshSeconds).contains(age.partialValue)
    }

    /// Takes over what is newer in another one.
    mutating func merge(_ other: ServerNonces) {
        for (name, entry) in other.entries
        where entry.at > entries[name]?.at ?? WallTime(seconds: .min) {
            entries[name] = entry
        }
    }

    // MARK: In the record

    var document: JSONObject {
        JSONObject(
            entries.sorted { $0.key < $1.key }.map { name, entry in
                let value: JSONValue = [
                    "nonce": entry.value.map { .string($0) } ?? .null,
                    "at": .number(JSONNumber(entry.at.seconds)),
                ]
                return .init(name: name, value: value)
            })
    }

    /// What cannot be read is left out: losing a nonce costs a request.
    init(_ document: JSONObject) {
        for member in document.members.prefix(Self.entriesMax) {
            guard let object = member.value.asObject, let at = object["at"]?.asNumber?.asInteger
            else { continue }
            let value = object["nonce"]?.asRevealedString
            guard value.map(ProofNonce.isValid) ?? true else { continue }
            entries[member.name] = Entry(value: value, at: WallTime(seconds: at))
        }
    }
}
