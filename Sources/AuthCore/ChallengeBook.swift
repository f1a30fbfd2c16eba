// The latest refusals of each upstream, by credential: what `proxy status` shows, what a step-up login asks
// for, where an API describes itself. A refusal is a record and nothing else: it never touches a login.

import Bytes
package import Crossing
import Diagnostics
import OAuth
import TokenStore
package import Vocabulary

/// One refusal, for whoever shows it or acts on it. Every text was written by a stranger; all are printable
/// ASCII of at most 1 KiB.
package struct UpstreamChallenge: Sendable, Equatable {
    /// `https://api.example.com`.
    package var upstream: String
    package var status: Int
    package var error: String?
    /// The scopes that the request needs (RFC 6750 section 3).
    package var scopes: [String]
    /// RFC 9470 section 3.
    package var acrValues: [String]
    package var maxAgeSeconds: Int64?
    /// RFC 9728 section 5.1; a text, to be checked by who fetches it.
    package var resourceMetadata: String?
    /// A renewed credential was refused as well.
    package var isAfterRenewal: Bool
    /// Only another login helps, says the configuration.
    package var wantsLogin = false
    package var at: WallTime
}

/// The book of a credential's refusals: notes beside the logins, which every process reads and writes.
package actor ChallengeBook {
    private let surroundings: Surroundings
    /// What there is where nothing can be written.
    private var unwritten: [CredentialID: [UpstreamChallenge]] = [:]
    /// The last of those who write; the next waits for it, so that none undoes what another did.
    private var last: Task<Void, Never>?

    /// Upstreams that are remembered for a credential.
    static let entriesMax = 8
    /// A clock that is off by more is named as a likely cause.
    private static let clockDifferenceSecondsMax: Int64 = 30

    package init(in surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    /// The latest of each upstream, the newest first.
    package func challenges(of id: CredentialID) async -> [UpstreamChallenge] {
        if let unwritten = unwritten[id] { return unwritten }
        return await Self.read(id, from: surroundings.store)
    }

    /// What some process noted last.
    static func read(_ id: CredentialID, from store: FileLoginStore) async -> [UpstreamChallenge] {
        let note = await store.note(noteName(id))?.asObject
        return (note?["refusals"]?.asArray ?? []).compactMap { UpstreamChallenge($0) }
    }

    package func note(_ facts: ChallengeFacts, of id: CredentialID) async {
        let challenge = UpstreamChallenge(facts, at: surroundings.time.wallTime())
        log(challenge, facts, id)
        let before = last
        let task = Task {
            await before?.value
            await self.add(challenge, to: id)
        }
        last = task
        await task.value
    }

    private func add(_ challenge: UpstreamChallenge, to id: CredentialID) async {
        var all = await challenges(of: id)
        all.removeAll { $0.upstream == challenge.upstream }
        all.insert(challenge, at: 0)
        all = Array(all.prefix(Self.entriesMax))
        do throws(StoreError) {
            try await Self.write(all, id, in: surroundings.store)
            unwritten[id] = nil
        } catch {
            if unwritten[id] == nil {
                surroundings.log.debug(
                    "refusals cannot be kept for status", ("reason", .text(error.message)))
            }
            unwritten[id] = all
        }
    }

    /// A new login starts with a clean slate, in every process.
    static func clear(_ id: CredentialID, in surroundings: Surroundings) async {
        guard await !read(id, from: surroundings.store).isEmpty else { return }
        try? await write([], id, in: surroundings.store)
    }

    private static func write(
        _ all: [UpstreamChallenge], _ id: CredentialID, in store: FileLoginStore
    ) async throws(StoreError) {
        try await store.saveNote(noteName(id), ["refusals": .array(all.map(\.document))])
    }

    private static func noteName(_ id: CredentialID) -> String { "refusals-\(id.name)" }

    // MARK: Telling

    private func log(_ challenge: UpstreamChallenge, _ facts: ChallengeFacts, _ id: CredentialID) {
        let log = surroundings.log
        let name = Log.Value.text(id.name)
        let upstream = Log.Value.text(challenge.upstream)
        switch challenge.error {
        case "insufficient_scope":
            log.info(
                "the API asks for more scope", ("credential", name), ("upstream", upstream),
                ("scope", .text(challenge.scopes.joined(separator: " "))))
        case "insufficient_user_authentication":
            log.info(
                "the API asks for a stronger or newer login", ("credential", name),
                ("upstream", upstream),
                ("acr_values", .text(challenge.acrValues.joined(separator: " "))),
                ("max_age", .number(challenge.maxAgeSeconds ?? -1)))
        case "invalid_request", "invalid_dpop_proof", "use_dpop_nonce":
            log.warning(
                "the API calls a request of ours wrong", ("credential", name),
                ("upstream", upstream), ("error", .text(challenge.error ?? "")),
                ("clock", .text(clockText(facts.date))))
        default:
            if challenge.wantsLogin {
                return log.warning(
                    "the API wants another login", ("credential", name), ("upstream", upstream),
                    ("status", .number(Int64(challenge.status))))
            }
            guard challenge.isAfterRenewal else { return }
            log.warning(
                "the API refuses a renewed credential", ("credential", name),
                ("upstream", upstream), ("error", .text(challenge.error ?? "none given")))
        }
    }

    private func clockText(_ date: String?) -> String {
        let now = surroundings.time.wallTime()
        guard let date, let theirs = HTTPDate.read(date, now: now) else { return "unknown" }
        let ahead = theirs.seconds - now.seconds
        if abs(ahead) <= Self.clockDifferenceSecondsMax { return "in step" }
        return "the API's is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") ours"
    }
}

extension UpstreamChallenge {
    init(_ facts: ChallengeFacts, at now: WallTime) {
        upstream = facts.upstream.description
        status = facts.status
        error = facts.error
        scopes = Self.words(facts.scope)
        acrValues = Self.words(facts.acrValues)
        maxAgeSeconds = facts.maxAgeSeconds
        resourceMetadata = facts.resourceMetadata
        isAfterRenewal = facts.isAfterRenewal
        wantsLogin = facts.wantsLogin
        at = now
    }

    private static func words(_ text: String?) -> [String] {
        (text ?? "").split(separator: " ").map(String.init)
    }

    package var document: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        func number(_ value: Int64?) -> JSONValue { value.map { .number(JSONNumber($0)) } ?? .null }
        func texts(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
        return [
            "upstream": .string(upstream), "status": number(Int64(status)), "error": text(error),
            "scopes": texts(scopes), "acr_values": texts(acrValues),
            "max_age": number(maxAgeSeconds), "resource_metadata": text(resourceMetadata),
            "after_renewal": .bool(isAfterRenewal), "wants_login": .bool(wantsLogin),
            "at": number(at.seconds),
        ]
    }

    init?(_ document: JSONValue) {
        guard let object = document.asObject, let upstream = object["upstream"]?.asString,
            let status = object["status"]?.asNumber?.asInteger,
            let at = object["at"]?.asNumber?.asInteger
        else { return nil }
        func texts(_ name: String) -> [String] {
            (object[name]?.asArray ?? []).compactMap(\.asString)
        }
        self.upstream = upstream
        self.status = Int(clamping: status)
        error = object["error"]?.asString
        scopes = texts("scopes")
        acrValues = texts("acr_values")
        maxAgeSeconds = object["max_age"]?.asNumber?.asInteger
        resourceMetadata = object["resource_metadata"]?.asString
        isAfterRenewal = object["after_renewal"]?.asBool ?? false
        wantsLogin = object["wants_login"]?.asBool ?? false
        self.at = WallTime(seconds: at)
    }
}
