// What follows a 101 (RFC 9110 section 15.2.2): bytes pass both ways as they come, each side is read only
// as fast as the other takes them, and the end of one direction leaves the other open. Nothing of
// them is looked at, and no rule of HTTP holds any longer.

import Bytes
import HTTPWire
import Reactor

extension ClientExchange {
    /// Whether the 101 in the worker's table is the answer that the request asked for. Any other would
    /// open a tunnel past every rule.
    func agreesToSwitch(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let wanted = record.upgrade
        guard !wanted.isEmpty, worker.responseHead.minorVersion > 0,
            worker.responseHead.connection.contains(.upgrade),
            !worker.responseHead.repeated.contains(.upgrade),
            let agreed = worker.responseHead.value(of: .upgrade, in: bytes)
        else { return false }
        return ASCII.equalsIgnoringCase(agreed, wanted)
    }

    /// The 101 was relayed into the worker's output buffer; `first` is what the upstream sent behind it.
    func beginTunnel(_ first: UnsafeRawBufferPointer) {
        isTunnel = true
        hasUnsentHead = false
        record.releaseHead(to: &worker.blocks)
        relayThroughTunnel(first, hasHead: true)
        guard isTunnel else { return }
        takeEarlyBytes()
        guard isTunnel else { return }
        if hasClientEnded { upstream?.end() }
    }

    /// Bytes of the client's.
    func takeForTunnel(_ bytes: UnsafeRawBufferPointer) {
        guard let upstream else { return }
        armTunnel()
        record.bytesTaken &+= bytes.count
        upstream.gather(bytes)
        switch upstream.send() {
        case .sent: break
        case .waiting: readClient(false)
        case .failed:
            // Whoever has ended its side in good order need not read what still comes.
            if !upstream.hasEnded { breakTunnel() }
        }
    }

    /// Bytes of the upstream's.
    func relayThroughTunnel(_ bytes: UnsafeRawBufferPointer, hasHead: Bool = false) {
        armTunnel()
        record.bytesRelayed &+= bytes.count
        guard sendToTunnel(bytes, hasHead: hasHead) else { return abandon() }
        if !isClientFlushed { upstream?.stopReading() }
    }

    /// One of the two takes bytes again.
    func tunnelFlushed() {
        if upstream?.isFlushed == true { readClient(true) }
        if isClientFlushed { upstream?.startReading() }
        closeTunnelIfDone()
    }

    /// The client will send no more, or the upstream will not.
    func tunnelEnded() {
        if hasClientEnded { upstream?.end() }
        if upstream?.hasEnded == true { endClient() }
        armTunnel()
        closeTunnelIfDone()
    }

    /// The upstream's side is broken, or nothing has come for too long. An orderly end would say that
    /// all is well.
    func breakTunnel() {
        record.cut = .byUpstream
        leaveTunnel()
        resetClient()
    }

    private func closeTunnelIfDone() {
        guard let upstream, hasClientEnded, upstream.hasEnded, isClientFlushed,
            upstream.isFlushed || upstream.hasFailedWriting
        else { return }
        upstream.finishTunnel()
        self.upstream = nil
        leaveTunnel()
        clientGone()
    }

    private func leaveTunnel() {
        isTunnel = false
        upstream?.abandon()
        upstream = nil
        finishExchange()
    }

    /// A peer that has ended its side may be gone for good, which nothing else would show.
    private func armTunnel() {
        let isHalfClosed = hasClientEnded || upstream?.hasEnded == true
        arm(isHalfClosed ? .tunnelHalfClosed : .tunnelIdle)
    }
}
