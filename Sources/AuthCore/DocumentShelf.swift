// Documents that providers publish, as they were last seen: in memory, and beside the logins for the
// next start. One that is old is asked for again, and used all the same where nobody answers: a
// provider's outage stops nothing that needs no provider. What a document says is not read here.

import Bytes
import Diagnostics
import TokenStore
import Vocabulary

/// What kind of document it is.
enum DocumentKind: String, Sendable {
    /// An issuer's (RFC 8414).
    case server = "metadata"
    /// A protected resource's (RFC 9728).
    case resource
}

/// One shelf for all credentials of a process.
actor DocumentShelf {
    /// A document as it lies there.
    struct Copy: Sendable {
        let document: JSONObject
        let fetchedAt: WallTime
        /// Since when it could not be had again, where that is so.
        var failingSince: WallTime?
    }

    typealias Fetch = @Sendable () async -> Result<JSONObject, DiscoveryError>

    /// How long a document is used without asking for it again.
    static let lifetimeSeconds: Int64 = 86_400
    /// How long an old one is used before it is asked for once more.
    private static let retryMilliseconds: UInt64 = 60_000

    private struct Key: Hashable {
        let kind: DocumentKind
        let name: String
    }

    private let surroundings: Surroundings
    private var copies: [Key: Copy] = [:]
    private var running: [Key: Task<Result<Copy, DiscoveryError>, Never>] = [:]
    private var retryAt: [Key: BootTime] = [:]

    init(in surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    /// The document of that name: fresh, or the last known where there is none to be had.
    ///
    /// - Parameters:
    ///   - ageSecondsMax: how old a copy may be that is used without asking.
    ///   - isRight: whether a copy from the disk is the document; what others wrote there is not
    ///     believed for its place alone.
    func document(
        _ kind: DocumentKind, _ name: String, ageSecondsMax: Int64 = lifetimeSeconds,
        isRight: @Sendable (JSONObject) -> Bool, fetch: @escaping Fetch
    ) async throws(DiscoveryError) -> Copy {
        let key = Key(kind: kind, name: name)
        let known = await copy(kind, name, isRight: isRight)
        if let known, isFresh(known, ageSecondsMax) || isResting(key) { return known }
        let task = running[key] ?? Task { await self.renew(key, fetch) }
        running[key] = task
        let result = await task.value
        if running[key] == task { running[key] = nil }
        switch result {
        case .success(let fresh): return fresh
        case .failure(let error):
            guard let known = copies[key] else { throw error }
            return known
        }
    }

    /// What lies there, however old; asks nobody.
    func copy(
        _ kind: DocumentKind, _ name: String, isRight: @Sendable (JSONObject) -> Bool
    ) async -> Copy? {
        let key = Key(kind: kind, name: name)
        if copies[key] == nil, let kept = await kept(key), isRight(kept.document) {
            copies[key] = kept
        }
        return copies[key]
    }

    private func isFresh(_ copy: Copy, _ ageSecondsMax: Int64) -> Bool {
        let age = surroundings.time.wallTime().seconds - copy.fetchedAt.seconds
        return age >= 0 && age < ageSecondsMax
    }

    private func isResting(_ key: Key) -> Bool {
        retryAt[key].map { surroundings.time.bootTime() < $0 } ?? false
    }

    private func renew(_ key: Key, _ fetch: Fetch) async -> Result<Copy, DiscoveryError> {
        switch await fetch() {
        case .success(let document):
            let copy = Copy(document: document, fetchedAt: surroundings.time.wallTime())
            retryAt[key] = nil
            copies[key] = copy
            await keep(copy, key)
            return .success(copy)
        case .failure(let error):
            await failed(key, error)
            return .failure(error)
        }
    }

    /// One line when it begins, and a mark for `proxy status`.
    private func failed(_ key: Key, _ error: DiscoveryError) async {
        guard var copy = copies[key] else { return }
        retryAt[key] = surroundings.time.bootTime().advanced(
            byMilliseconds: Self.retryMilliseconds)
        guard copy.failingSince == nil else { return }
        copy.failingSince = surroundings.time.wallTime()
        copies[key] = copy
        surroundings.log.warning(
            "provider metadata could not be renewed; the last known is used",
            ("of", .text(key.name)), ("reason", .text(error.message)))
        await keep(copy, key)
    }

    // MARK: On disk

    private static func noteName(_ key: Key) -> String {
        FileLoginStore.noteName(key.kind.rawValue, of: key.name)
    }

    private func kept(_ key: Key) async -> Copy? {
        guard let note = await surroundings.store.note(Self.noteName(key)) else { return nil }
        return Copy(note, name: key.name)
    }

    private func keep(_ copy: Copy, _ key: Key) async {
        do throws(StoreError) {
            try await surroundings.store.saveNote(
                Self.noteName(key), copy.note(name: key.name))
        } catch {
            surroundings.log.debug(
                "provider metadata could not be kept", ("reason", .text(error.message)))
        }
    }

    /// What a process left there, for whoever only looks.
    static func kept(
        _ kind: DocumentKind, _ name: String, in store: FileLoginStore
    ) async -> Copy? {
        await store.note(noteName(Key(kind: kind, name: name))).flatMap { Copy($0, name: name) }
    }
}

extension DocumentShelf.Copy {
    private static let version: Int64 = 1

    /// Nil for the note of another name, or of a later release.
    init?(_ note: JSONValue, name: String) {
        guard let note = note.asObject, note["version"]?.asNumber?.asInteger == Self.version,
            let owner = note["of"]?.asString, owner.isIdentical(to: name),
            let seconds = note["fetched_at"]?.asNumber?.asInteger,
            let document = note["document"]?.asObject
        else { return nil }
        self.init(
            document: document, fetchedAt: WallTime(seconds: seconds),
            failingSince: note["failing_since"]?.asNumber?.asInteger.map {
                WallTime(seconds: $0)
            })
    }

    func note(name: String) -> JSONValue {
        [
            "version": .number(JSONNumber(Self.version)), "of": .string(name),
            "fetched_at": .number(JSONNumber(fetchedAt.seconds)),
            "failing_since": failingSince.map { .number(JSONNumber($0.seconds)) } ?? .null,
            "document": .object(document),
        ]
    }
}
