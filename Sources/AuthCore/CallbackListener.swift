// The port that a provider sends the browser to: there only while a login waits, on the loopback
// addresses only, for one exact path. Whatever else arrives is turned away and changes nothing.

import LoopbackServer
import Synchronization
import Vocabulary

/// Listens until `close`.
final class CallbackListener: Sendable {
    /// Takes the query of a request to the callback, without "?"; gives the page that answers it.
    typealias Receiver = @Sendable (_ query: String) async -> CallbackPage

    /// Set once the port is known, since the port is part of what is then waited for.
    private final class Receipt: Sendable {
        private let receiver = Mutex<Receiver?>(nil)

        func set(_ value: Receiver?) { receiver.withLock { $0 = value } }
        var current: Receiver? { receiver.withLock { $0 } }
    }

    private let server: HTTPServer
    private let receipt: Receipt
    let port: UInt16

    /// - Parameters:
    ///   - port: a registered one, or nil for a free one.
    ///   - onTLS: a browser spoke TLS: something turned http into https.
    init(
        port: UInt16?, path: String, onTLS: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        let receipt = Receipt()
        self.receipt = receipt
        server = try HTTPServer(
            port: port,
            onEvent: { event in
                if case .tlsHandshake = event { onTLS() }
            },
            handler: { request in
                await Self.page(for: request, path: path, receipt.current).response
            })
        self.port = server.port
    }

    func receive(_ receiver: @escaping Receiver) { receipt.set(receiver) }

    /// Lets pages that are under way arrive, then frees the port.
    func close() async {
        await server.drain(milliseconds: 1000)
        // The receiver knows its login, which knows this listener.
        receipt.set(nil)
    }

    private static func page(
        for request: ServerRequest, path: String, _ receiver: Receiver?
    ) async -> CallbackPage {
        guard request.path.isIdentical(to: path) else { return .notHere(expectedPath: path) }
        // HEAD is how link checkers look; POST would be another response mode.
        guard request.method == "GET" else { return .wrongMethod }
        guard !request.isLookingAhead, let receiver else { return .tooEarly }
        return await receiver(request.query ?? "")
    }
}

extension ServerRequest {
    /// Prefetch and prerender (the Sec-Purpose field of the Fetch standard, and its forerunners).
    var isLookingAhead: Bool {
        ["Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"].contains { name in
            guard let value = field(name)?.lowercased() else { return false }
            return value.hasPrefix("prefetch") || value.hasPrefix("preview")
                || value.hasPrefix("prerender")
        }
    }
}
