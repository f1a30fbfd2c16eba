// Connections for workers: libcurl finds the address, races the families and talks to proxies; the
// connected socket is then the caller's. No TLS and no byte of HTTP to the origin happens here.

import CCurl
package import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

package final class Dialler: Sendable {
    private let driver: CurlDriver
    private let proxy: ForwardProxy

    package init(driver: CurlDriver, proxy: ForwardProxy) {
        self.driver = driver
        self.proxy = proxy
    }

    /// Calls `done` once, on the driver's thread, where it must not block: with a socket that is
    /// connected to the origin (through the tunnel of a proxy where there is one), non-blocking,
    /// closed on exec and without Nagle's delay, and that the caller must close; or with the reason.
    package func dial(
        _ target: DialTarget, timeoutMilliseconds: UInt64,
        done: @escaping @Sendable (Result<Int32, DialFailure>) -> Void
    ) {
        dial(target, knownAddresses: [:], timeoutMilliseconds: timeoutMilliseconds, done: done)
    }

    /// - Parameter knownAddresses: answers in place of a resolver's, by name; for tests.
    func dial(
        _ target: DialTarget, knownAddresses: [String: [String]], timeoutMilliseconds: UInt64,
        done: @escaping @Sendable (Result<Int32, DialFailure>) -> Void
    ) {
        driver.run(
            DialTransfer(
                target: target, hop: proxy.hop(for: target.origin), known: knownAddresses,
                timeoutMilliseconds: timeoutMilliseconds, done: done))
    }
}

// SAFETY: what changes belongs to the driver's thread, which alone calls these methods and runs
// libcurl's callbacks.
private final class DialTransfer: Transfer, @unchecked Sendable {
    private let target: DialTarget
    private var origin: Origin { target.origin }
    private let known: [String: [String]]
    private let hop: ForwardProxy.Hop?
    private let timeoutMilliseconds: UInt64
    private let race = AddressRace()
    private let done: @Sendable (Result<Int32, DialFailure>) -> Void

    init(
        target: DialTarget, hop: ForwardProxy.Hop?, known: [String: [String]],
        timeoutMilliseconds: UInt64,
        done: @escaping @Sendable (Result<Int32, DialFailure>) -> Void
    ) {
        self.target = target
        self.known = known
        self.hop = hop
        self.timeoutMilliseconds = timeoutMilliseconds
        self.done = done
    }

    func begin() -> EasyHandle? {
        let handle = EasyHandle()
        // Always http, so that libcurl leaves TLS to the worker.
        let name = target.address ?? origin.host
        let host = name.contains(":") ? "[\(name)]" : name
        guard isHost(name), let url = try? WebAddress("http://\(host):\(origin.port)/")
        else {
            done(.failure(.nameNotResolved))
            return nil
        }
        handle.set(url)
        handle.set(hop)
        // What a forward proxy resolves is for it to judge.
        if hop == nil {
            handle.set(
                AddressPolicy(
                    AddressPolicy.reach(
                        of: name, allowsPrivate: target.allowsPrivateAddresses)))
        }
        handle.set(knownAddresses: known, port: origin.port)
        handle.set(CURLOPT_CONNECT_ONLY, 1)
        if hop?.scheme == .http {
            handle.set(CURLOPT_HTTPPROXYTUNNEL, 1)
            handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        }
        // The addresses of a proxy are few, and a tunnel asked for twice is two connections beyond it.
        if hop == nil { handle.race = race }
        let limit = race.left(
            ofMilliseconds: Int(clamping: min(timeoutMilliseconds, UInt64(Int32.max))))
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, limit)
        handle.set(CURLOPT_TIMEOUT_MS, limit)
        return handle
    }

    func conclude(_ handle: EasyHandle, _ code: CURLcode) -> () -> Void {
        let done = self.done
        guard code == CURLE_OK else {
            if handle.policy?.hasRefused == true { return { done(.failure(.addressNotAllowed)) } }
            let failure = TransferFailure(handle, code, host: origin.host, hop: hop).dialFailure
            return { done(.failure(failure)) }
        }
        // libcurl closes its descriptor when the handle is removed. A duplicate is ours whenever
        // and however that happens, and it leaves nothing to leak when a dial fails.
        guard let theirs = handle.socket else {
            return { done(.failure(.other("libcurl lost the connection"))) }
        }
        let ours = fcntl(theirs, F_DUPFD_CLOEXEC, 0)
        guard ours >= 0 else {
            let reason = String(cString: strerror(errno))
            return { done(.failure(.other(reason))) }
        }
        var on: Int32 = 1
        setsockopt(
            ours, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        _ = fcntl(ours, F_SETFL, fcntl(ours, F_GETFL) | O_NONBLOCK)
        return { done(.success(ours)) }
    }

    func cancel() {
        done(.failure(.other("shutting down")))
    }

    /// Letters that cannot end the host part of a URL.
    private func isHost(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x3A: true
                default: false
                }
            }
    }
}
