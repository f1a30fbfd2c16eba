// TLS contexts for upstreams. They are made when a table is installed, on the control plane's thread, since
// reading authorities touches the disk; workers only find them.

import Crypto
import Routing
import Vocabulary
import Synchronization

/// One context for each set of authorities and of protocols; shared by all workers.
final class UpstreamTrust: Sendable {
    private struct Key: Hashable {
        let trust: TLSTrust
        let demands: TLSDemands
        let protocols: [String]
    }

    private let contexts = Mutex<[Key: TLSContext]>([:])

    /// Makes what the table's upstreams need and does not exist yet.
    func prepare(for table: RouteTable) throws(TLSError) {
        for upstream in table.upstreams where upstream.origin.scheme == .https {
            _ = try context(for: upstream)
        }
    }

    /// The same for a table that comes after another, with files as they are now. When it throws, what
    /// was made before stays.
    func renew(for table: RouteTable) throws(TLSError) {
        let fresh = UpstreamTrust()
        try fresh.prepare(for: table)
        let made = fresh.contexts.withLock { $0 }
        contexts.withLock { $0.merge(made) { $1 } }
    }

    /// Asked once for each new connection.
    ///
    /// - Parameter dial: one that is for a single exchange does not offer HTTP/2 unless it must.
    func context(for upstream: Upstream, for dial: DialTable.Dial? = nil) throws(TLSError)
        -> TLSContext
    {
        let trust = upstream.caFile.map { TLSTrust.file(path: $0) } ?? .system
        var offersHTTP2 = true
        if let dial {
            offersHTTP2 = !dial.needsHTTP1 && (dial.isShared || upstream.http2 == .on)
        }
        let protocols = offersHTTP2 ? upstream.protocols : ["http/1.1"]
        let key = Key(
            trust: trust, demands: TLSDemands(upstream.tls), protocols: protocols)
        if let context = contexts.withLock({ $0[key] }) { return context }
        let context = try TLSContext.client(
            trust: trust, alpn: protocols, demands: key.demands)
        contexts.withLock { $0[key] = context }
        return context
    }
}

extension TLSDemands {
    fileprivate init(_ tls: UpstreamTLS?) {
        self.init()
        guard let tls else { return }
        certificateFile = tls.certificateFile
        keyFile = tls.keyFile
        pins = tls.pins
        requiresTLS13 = tls.requiresTLS13
    }
}
