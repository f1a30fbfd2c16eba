// Which certificate authorities are believed. A store costs megabytes, so every context that trusts
// the same authorities shares one, loaded when first needed and freed with its last context.

import COpenSSL
import Synchronization

/// Whose signature on a certificate counts.
package enum TLSTrust: Hashable, Sendable {
    /// The authorities of this machine: OpenSSL's own paths, or SSL_CERT_FILE and SSL_CERT_DIR.
    case system
    /// The certificates in a PEM file and no others. One that is no root is believed as it stands.
    case file(path: String)
}

/// Owns an `X509_STORE`.
final class TrustStore: Sendable {
    // SAFETY: OpenSSL locks a store for itself (X509_STORE_lock(3)); nothing here changes it after
    // the initialiser.
    nonisolated(unsafe) let pointer: OpaquePointer
    private let stamp: FileStamp?

    private static let shared = Mutex<[TLSTrust: Entry]>([:])

    private struct Entry {
        weak var store: TrustStore?
    }

    /// The one store for `trust`. A file that has changed since is loaded anew; contexts that exist
    /// keep what they have.
    static func shared(for trust: TLSTrust) throws(TLSError) -> TrustStore {
        let stamp: FileStamp? =
            if case .file(let path) = trust { try FileStamp(of: path) } else { nil }
        let result = shared.withLock { stores -> Result<TrustStore, TLSError> in
            if let store = stores[trust]?.store, store.stamp == stamp { return .success(store) }
            do throws(TLSError) {
                let store = try TrustStore(trust, stamp)
                stores = stores.filter { $0.value.store != nil }
                stores[trust] = Entry(store: store)
                return .success(store)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init(_ trust: TLSTrust, _ stamp: FileStamp?) throws(TLSError) {
        guard let store = X509_STORE_new() else { outOfMemory() }
        self.pointer = store
        self.stamp = stamp
        // As libcurl does it, so that tokens and requests meet the same rules.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        switch trust {
        case .system:
            SystemAuthorities.add(to: store)
        case .file(let path):
            let isLoaded = X509_STORE_load_file(store, path) == 1
            ERR_clear_error()
            if !isLoaded { throw .noCertificate(path: path) }
        }
    }

    deinit {
        X509_STORE_free(pointer)
    }
}

/// OpenSSL allocates little and fails only when nothing is left; there is nothing to do then.
func outOfMemory() -> Never {
    fatalError("out of memory")
}
