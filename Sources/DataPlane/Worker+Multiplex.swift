// How a worker's exchanges come to streams of connections that they share: who waits, what is dialled for them,
// and what becomes of both when a connection is made, fails or goes.

import Bytes
import Crossing
import HTTP2Wire
import HTTPWire
import Reactor
import Routing
import Vocabulary

extension Worker {
    /// A way to an upstream that many may share; `.none` where a connection is needed for one alone.
    func way(
        to upstream: Int, of table: InstalledTable, for client: ClientExchange, mayReuse: Bool
    ) -> MultiplexPool.Answer {
        guard table.maySpeakHTTP2[upstream], table === installed, !client.needsHTTP1 else {
            return .none
        }
        let answer = multiplexed.request(
            upstream, for: client, mayReuse: mayReuse, isIdempotent: client.method.isIdempotent,
            now: loop.now)
        if case .dial = answer, !dialShared(upstream) {
            multiplexed.noteDialEnded(upstream)
            multiplexed.forget(client, upstream)
            return .full
        }
        return answer
    }

    /// A connection has come up for those who wait.
    func sharedConnectionReady(_ connection: UpstreamConnection) {
        guard connection.epoch == installed.epoch else { return connection.close() }
        if connection.speaksHTTP2 {
            let shared = connection.multiplex()
            multiplexed.add(shared)
            return streamsFreed(on: shared)
        }
        let upstream = connection.upstream
        multiplexed.noteDialEnded(upstream)
        multiplexed.noteHTTP1(upstream)
        if let first = multiplexed.takeWaiting(upstream) {
            first.connected(.connection(connection), isReused: false)
        } else {
            giveBack(connection)
        }
        while let client = multiplexed.takeWaiting(upstream) { client.connectAlone() }
    }

    /// A connection that was dialled for one client although many could share it: its table is no longer
    /// in use.
    func privateConnectionReady(_ connection: UpstreamConnection, for client: ClientExchange?) {
        guard let client else { return connection.close() }
        let shared = connection.multiplex()
        client.connected(.stream(shared.makeStream()), isReused: false)
        shared.retire()
    }

    /// An upstream will have no connection in HTTP/2: those who wait for one get connections of their own.
    func refusesHTTP2(_ upstream: Int, of epoch: Int) {
        // Where the configuration knows no other protocol, only requests that were refused try one.
        guard epoch == installed.epoch, installed.table.upstreams[upstream].http2 != .on else {
            return
        }
        multiplexed.noteHTTP1(upstream)
        while let client = multiplexed.takeWaiting(upstream) { client.connectAlone() }
    }

    /// There is room for streams on a connection.
    func streamsFreed(on shared: HTTP2Upstream) {
        while multiplexed.hasWaiting(shared.upstream), shared.epoch == installed.epoch,
            shared.capacity > 0, let client = multiplexed.takeWaiting(shared.upstream)
        {
            client.connected(.stream(shared.makeStream()), isReused: true)
        }
    }

    /// A connection could not be made.
    func connectFailed(
        _ connection: UpstreamConnection, for client: ClientExchange?, _ reply: LocalReply
    ) {
        guard connection.isShared else {
            client?.connectFailed(reply)
            return
        }
        sharedDialFailed(connection.upstream, of: connection.epoch, reply)
    }

    /// Nobody who waits can be told to wait on.
    func sharedDialFailed(_ upstream: Int, of epoch: Int, _ reply: LocalReply) {
        guard epoch == installed.epoch else { return }
        multiplexed.noteDialEnded(upstream)
        while let client = multiplexed.takeWaiting(upstream) { client.connectFailed(reply) }
    }

    /// A connection takes no more streams: who waits for one needs another.
    func redial(_ upstream: Int, of epoch: Int) {
        guard epoch == installed.epoch, multiplexed.noteDialWanted(upstream) else { return }
        if !dialShared(upstream) { sharedDialFailed(upstream, of: epoch, .tooManyWaiting) }
    }

    // MARK: Frames

    /// The most that is put together for one write.
    private static let frameBytesMax = 64 * 1024

    /// Sends what a session has due and its socket takes; false when the connection has failed.
    func sendFrames(of session: Session, through connection: ByteStream) -> Bool {
        while connection.isFlushed && !connection.isClosing && session.wantsToSend {
            frames.removeAll()
            session.produce(into: &frames, upTo: Self.frameBytesMax)
            if frames.isEmpty { break }
            connection.gather(frames.bytes)
            if case .failed = connection.send() { return false }
        }
        return true
    }
}
