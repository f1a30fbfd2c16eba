// What an exchange holds of its upstream: a connection of its own in HTTP/1, or a stream of one that it shares
// in HTTP/2. Both take a request in pieces and tell when they can take more.

import Bytes
import HTTP2Wire
import Reactor

/// The two kinds of way to an upstream, with what an exchange asks of either.
enum UpstreamLink {
    case connection(UpstreamConnection)
    case stream(UpstreamStream)

    /// Whether more of the request can be given to it.
    var isFlushed: Bool {
        switch self {
        case .connection(let connection): connection.isFlushed
        case .stream(let stream): stream.isFlushed
        }
    }

    /// Whether nothing more will be taken; an answer may still come.
    var hasFailedWriting: Bool {
        switch self {
        case .connection(let connection): connection.hasFailedWriting
        case .stream(let stream): stream.hasFailedWriting
        }
    }

    /// Whether the upstream has not shown yet that it takes our side of the TLS handshake.
    var mayHaveBeenRefused: Bool {
        if case .connection(let connection) = self { connection.mayHaveBeenRefused } else { false }
    }

    /// A request begins.
    func begin(for client: ClientExchange) {
        switch self {
        case .connection(let connection): connection.begin(for: client)
        case .stream(let stream): stream.begin(for: client)
        }
    }

    /// More of the request was given to it, or all of it.
    func requestSent(isWhole: Bool) {
        switch self {
        case .connection(let connection): connection.requestSent(isWhole: isWhole)
        case .stream(let stream): stream.requestSent(isWhole: isWhole)
        }
    }

    /// Fields of the response that no compression table may keep.
    var neverIndexed: NeverIndexed {
        if case .stream(let stream) = self { stream.neverIndexed } else { NeverIndexed() }
    }

    /// The client has taken what came.
    func startReading() {
        switch self {
        case .connection(let connection): connection.startReading()
        case .stream(let stream): stream.startReading()
        }
    }

    /// The client has gone, or is answered otherwise.
    func abandon() {
        switch self {
        case .connection(let connection): connection.abandon()
        case .stream(let stream): stream.abandon()
        }
    }

    /// The response is not wanted, since the request will be sent again.
    func discardResponse() {
        switch self {
        case .connection(let connection): connection.discardResponse()
        case .stream(let stream): stream.abandon()
        }
    }
}

// Tunnels have a connection of their own, always.
extension UpstreamLink {
    private var own: UpstreamConnection? {
        if case .connection(let connection) = self { connection } else { nil }
    }

    var hasEnded: Bool { own?.hasEnded ?? true }

    func gather(_ bytes: UnsafeRawBufferPointer) { own?.gather(bytes) }
    func send() -> SendOutcome { own?.send() ?? .failed(nothingSent: true) }
    func end() { own?.end() }
    func stopReading() { own?.stopReading() }
    func finishTunnel() { own?.finishTunnel() }
}
