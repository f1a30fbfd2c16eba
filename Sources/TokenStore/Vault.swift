// Keeps the keys of one process: reads them when they are first needed, and remembers for a moment that
// there was none, so that a program that gives them is not run again with every look at the store.

import Synchronization
import Vocabulary

/// One store's keys.
final class Vault: Sendable {
    private struct State {
        var keyring: Keyring?
        var failure: (error: StoreError, until: BootTime)?
    }

    private static let patienceMilliseconds: UInt64 = 5000

    let keys: StoreKeys
    private let directory: String
    private let time: any TimeSource
    private let state = Mutex(State())

    init(_ keys: StoreKeys, directory: String, time: any TimeSource) {
        self.keys = keys
        self.directory = directory
        self.time = time
        if keys.sealing == nil, keys.opening == nil { state.withLock { $0.keyring = .empty } }
    }

    /// The keys; throws `locked` where they cannot be read.
    func keyring() async throws(StoreError) -> Keyring {
        let now = time.bootTime()
        let known = state.withLock { state -> Result<Keyring, StoreError>? in
            if let keyring = state.keyring { return .success(keyring) }
            if let failure = state.failure, now < failure.until { return .failure(failure.error) }
            return nil
        }
        if let known { return try known.get() }
        do throws(StoreKeyError) {
            let sealing =
                if let source = keys.sealing { try await source() } else { nil as StoreKey? }
            let opening =
                if let source = keys.opening { try await source() } else { nil as StoreKey? }
            let fresh = Keyring(sealing: sealing, opening: opening, cost: keys.cost)
            // Whoever came first: keys that were derived from a passphrase are kept there.
            return state.withLock { state in
                let keyring = state.keyring ?? fresh
                state.keyring = keyring
                return keyring
            }
        } catch {
            let failure = StoreError.locked(path: directory, .keyUnavailable(reason: error.reason))
            state.withLock { state in
                let until = now.advanced(byMilliseconds: Self.patienceMilliseconds)
                state.failure = (failure, until)
            }
            throw failure
        }
    }
}
