// The public keys of providers, fetched when a token names one that is not known, and kept in memory
// and beside the logins: what was published once still verifies while a provider is down. Nobody can
// make us ask more often than once a minute.

import Bytes
import Diagnostics
package import OAuth
import TokenStore
import Vocabulary

/// Why there are no keys.
package enum KeysError: Error, Hashable, Sendable {
    case unreachable(url: String, reason: String)
    case unusable(url: String, KeySetError)
}

extension KeysError {
    /// One line.
    var message: String {
        switch self {
        case .unreachable(let url, let reason): "the keys at \(url) cannot be fetched: \(reason)"
        case .unusable(let url, .status(let status)):
            "the keys at \(url) cannot be fetched: status \(status)"
        case .unusable(let url, .unreadable): "what is at \(url) is no set of keys"
        case .unusable(let url, .tooManyKeys(let limit)):
            "the set of keys at \(url) has more than \(limit)"
        }
    }
}

/// One desk for all credentials of a process.
package actor KeyDesk {
    private struct Known {
        let set: JSONWebKeySet
        let fetchedAt: WallTime
    }

    /// How long a set is used without asking for it again.
    static let lifetimeSeconds: Int64 = 86_400
    /// Between two requests for a set of which one is known already.
    static let pauseMilliseconds: UInt64 = 60_000

    private let surroundings: Surroundings
    private var known: [String: Known] = [:]
    private var lastRequests: [String: BootTime] = [:]
    private var running: [String: Task<Result<Known, KeysError>, Never>] = [:]

    init(in surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    /// The keys published at a URL: those that are known where they suffice, else fresh ones, else
    /// the best that there are.
    ///
    /// - Parameters:
    ///   - reach: where the address may lead, where a stranger named it.
    ///   - suffices: whether a set can do what it is needed for.
    func keys(
        at url: String, reach: OutboundRequest.Reach = .anywhere,
        suffices: @Sendable (JSONWebKeySet) -> Bool
    ) async throws(KeysError) -> JSONWebKeySet {
        if let set = await known(at: url, suffices: suffices) { return set }
        if let known = known[url], !mayAskAgain(url) { return known.set }
        let task = running[url] ?? Task { await self.fetch(url, reach) }
        running[url] = task
        let result = await task.value
        running[url] = nil
        switch result {
        case .success(let fetched): return fetched.set
        case .failure(let error):
            guard let stale = known[url] else { throw error }
            surroundings.log.warning(
                "a provider's keys could not be renewed", ("reason", .text(error.message)))
            return stale.set
        }
    }

    /// The keys where those that are known suffice; nobody is asked.
    func known(
        at url: String, suffices: @Sendable (JSONWebKeySet) -> Bool
    ) async -> JSONWebKeySet? {
        if known[url] == nil { known[url] = await kept(url) }
        guard let known = known[url], isFresh(known), suffices(known.set) else { return nil }
        return known.set
    }

    private func isFresh(_ known: Known) -> Bool {
        let age = surroundings.time.wallTime().seconds - known.fetchedAt.seconds
        return age >= 0 && age < Self.lifetimeSeconds
    }

    private func mayAskAgain(_ url: String) -> Bool {
        guard running[url] == nil, let last = lastRequests[url] else { return true }
        return surroundings.time.bootTime()
            >= last.advanced(byMilliseconds: Self.pauseMilliseconds)
    }

    // MARK: Fetching

    private func fetch(
        _ url: String, _ reach: OutboundRequest.Reach
    ) async -> Result<Known, KeysError> {
        lastRequests[url] = surroundings.time.bootTime()
        var request = JSONWebKeySet.request(url)
        request.reach = reach
        let response: InboundResponse
        do throws(FetchError) {
            response = try await surroundings.fetcher.fetch(request)
        } catch {
            return .failure(.unreachable(url: url, reason: error.words))
        }
        do throws(KeySetError) {
            let fetched = Known(
                set: try .read(response), fetchedAt: surroundings.time.wallTime())
            known[url] = fetched
            await keep(fetched, url)
            return .success(fetched)
        } catch {
            return .failure(.unusable(url: url, error))
        }
    }

    // MARK: Keeping

    static func noteName(_ url: String) -> String { FileLoginStore.noteName("keys", of: url) }

    private func kept(_ url: String) async -> Known? {
        guard let note = await surroundings.store.note(Self.noteName(url))?.asObject,
            // Two addresses may share a name.
            note["url"]?.asString?.isIdentical(to: url) == true,
            let seconds = note["fetched_at"]?.asNumber?.asInteger,
            let document = note["document"]?.asObject,
            let set = try? JSONWebKeySet(document: document)
        else { return nil }
        return Known(set: set, fetchedAt: WallTime(seconds: seconds))
    }

    private func keep(_ known: Known, _ url: String) async {
        let note: JSONValue = [
            "url": .string(url), "fetched_at": .number(JSONNumber(known.fetchedAt.seconds)),
            "document": .object(known.set.document),
        ]
        do throws(StoreError) {
            try await surroundings.store.saveNote(Self.noteName(url), note)
        } catch {
            surroundings.log.debug(
                "a provider's keys could not be kept", ("reason", .text(error.message)))
        }
    }
}
