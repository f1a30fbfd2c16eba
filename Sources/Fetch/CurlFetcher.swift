// The control plane's requests. Each has a connection of its own, so that no request is ever sent
// twice behind our back and none meets a connection that went stale; each follows no redirect.

import Bytes
package import Vocabulary

/// Performs requests through a driver.
package struct CurlFetcher: Fetching {
    private let driver: CurlDriver
    private let proxy: ForwardProxy
    private let caFile: String?
    private let trust: SharedTrust?

    /// Believes `trust` where libcurl can take it; else the authorities in `caFile` and nobody else;
    /// else those of the machine (SSL_CERT_FILE and SSL_CERT_DIR name others).
    package init(
        driver: CurlDriver, proxy: ForwardProxy, caFile: String? = nil, trust: SharedTrust? = nil
    ) {
        self.driver = driver
        self.proxy = proxy
        self.caFile = caFile
        self.trust = trust
    }

    /// Goes on when the calling task is cancelled: a refresh that the server has acted on must
    /// arrive. It ends by itself at the request's timeout, and with the driver.
    package func fetch(_ request: OutboundRequest) async throws(FetchError) -> InboundResponse {
        try await fetch(request, knownAddresses: [:])
    }

    /// - Parameter knownAddresses: answers in place of a resolver's, by name; for tests.
    func fetch(
        _ request: OutboundRequest, knownAddresses: [String: [String]]
    ) async throws(FetchError) -> InboundResponse {
        let result = await withCheckedContinuation { continuation in
            driver.run(
                RequestTransfer(
                    request, proxy, caFile: caFile, trust: trust, known: knownAddresses
                ) { result in
                    continuation.resume(returning: result)
                })
        }
        return try result.get()
    }
}
