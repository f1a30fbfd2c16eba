// The authorities of this machine, found when they are needed. OpenSSL's own way parses the whole
// bundle at once, which takes 25 ms and two megabytes for one root out of a hundred and forty.

import COpenSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The same directory and the same bundle as X509_STORE_set_default_paths(3), the directory first.
enum SystemAuthorities {
    static func add(to store: OpaquePointer) {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        // The directory has a file for each authority, named by a digest of the subject, and is read
        // file by file (SSL_CERT_DIR or the built-in one).
        if let directory = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir()) {
            X509_LOOKUP_ctrl(directory, X509_L_ADD_DIR, nil, Int(X509_FILETYPE_DEFAULT), nil)
        }
        guard X509_STORE_add_lookup(store, bundleMethod) != nil else { outOfMemory() }
    }

    // SAFETY: written once under Swift's lock for globals, then only read.
    private nonisolated(unsafe) static let bundleMethod: OpaquePointer = {
        guard let method = X509_LOOKUP_meth_new("bundle when needed"),
            X509_LOOKUP_meth_set_get_by_subject(method, findInBundle) == 1
        else { outOfMemory() }
        return method
    }()

    static var bundlePath: String {
        getenv(X509_get_default_cert_file_env()).map { String(cString: $0) }
            ?? String(cString: X509_get_default_cert_file())
    }
}

/// Asked for an authority that neither the store nor the directory has: a bundle may hold more than
/// the directory, because somebody appended to it. Loads it into the store, once.
private func findInBundle(
    _ lookup: OpaquePointer?, _ kind: X509_LOOKUP_TYPE, _ subject: OpaquePointer?,
    _ result: OpaquePointer?
) -> Int32 {
    guard kind == X509_LU_X509, let lookup, let store = X509_LOOKUP_get_store(lookup) else {
        return 0
    }
    // Verification goes on on several threads; OpenSSL holds no lock while it asks.
    X509_STORE_lock(store)
    let isLoaded = X509_LOOKUP_get_method_data(lookup) != nil
    X509_STORE_unlock(store)
    if !isLoaded {
        ERR_set_mark()
        X509_load_cert_crl_file(lookup, SystemAuthorities.bundlePath, X509_FILETYPE_PEM)
        ERR_pop_to_mark()
    }

    X509_STORE_lock(store)
    defer { X509_STORE_unlock(store) }
    X509_LOOKUP_set_method_data(lookup, UnsafeMutableRawPointer(lookup))
    // Another thread may have loaded the bundle after the store was searched for us.
    guard
        let found = X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), kind, subject),
        let certificate = X509_OBJECT_get0_X509(found),
        X509_OBJECT_set1_X509(result, certificate) == 1
    else { return 0 }
    // The caller counts a reference of its own, and `result` is never freed
    // (X509_STORE_CTX_get_by_subject in crypto/x509/x509_lu.c; by_store.c does the same).
    X509_free(certificate)
    return 1
}
