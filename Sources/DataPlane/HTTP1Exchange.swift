// The exchanges of an HTTP/1 client, one after the other: the body out of its framing, the response into
// it, and whether the connection goes on.

import Bytes
import HTTPWire
import Reactor
import Routing

/// The client's side of an exchange in HTTP/1. Its connection owns it and uses it for every request.
final class HTTP1Exchange: ClientExchange {
    // SAFETY: the connection owns this exchange, and nobody else keeps it once the connection is closed.
    private unowned(unsafe) let connection: ClientConnection
    private var reader = BodyReader()
    /// The client has said that it sends no other request.
    private(set) var isLastRequest = false
    /// A response's head whose body has not begun. It goes out with the beginning, or at the end of the turn: of an
    /// upstream in HTTP/2 both come in frames of their own, and one write costs half of two.
    private var waitingHead = ByteBuffer()

    /// A connection that knows this client by what the client has shown on it.
    private var bound: UpstreamConnection?

    init(_ connection: ClientConnection) {
        self.connection = connection
        super.init(connection.worker, connection.rules)
    }

    // MARK: The request

    /// A head that cannot be read.
    func refuse(_ error: WireError) {
        isRequestWhole = true
        record.beginUnreadable(id: worker.tally.begin(), now: loop.now)
        answer(.badRequest(error), closes: true)
    }

    override func startBody(_ framing: BodyFraming) {
        isLastRequest = !record.persists
        reader.start(framing)
        isRequestWhole = reader.isFinished
    }

    override var requestTrailers: UnsafeRawBufferPointer { reader.trailers.bytes }

    /// Takes bytes of the request's body, or none while they have nowhere to go.
    func takeBody(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        guard canTakeBody(bytes.count) else { return 0 }
        let step: BodyStep
        do throws(WireError) {
            step = try reader.read(bytes)
        } catch {
            bodyUnreadable(error)
            return bytes.count
        }
        isContinued = true
        if step.isFinished { isRequestWhole = true }
        forward(UnsafeRawBufferPointer(rebasing: bytes[step.data]))
        return step.consumed
    }

    override func resumeInput() { connection.consumeInbox() }

    // MARK: The response

    override var isClientFlushed: Bool { connection.isFlushed }
    override var hasClientEnded: Bool { connection.hasEnded }

    override var clientAddress: String { connection.peerAddress }

    /// A client that is not done with its request cannot be read past it.
    override var endsConnection: Bool {
        !record.persists || !isRequestWhole || connection.isLeaving
    }

    override func terms(closes: Bool) -> ClientTerms {
        var terms = ClientTerms(
            minorVersion: record.minorVersion, closes: closes, authority: record.authority)
        // Only in HTTP/2 do they come beside a length.
        if record.asksForTrailers, record.minorVersion > 0, case .stream = upstream {
            terms.prefersTrailers = true
        }
        return terms
    }

    override func sendInterim() {
        connection.gather(worker.output.bytes)
        connection.send()
    }

    /// Small bodies are copied behind the head, which is cheaper than a write with many pieces.
    private static let copiedBytesMax = 4096

    override func sendResponse(
        _ data: UnsafeRawBufferPointer, hasHead: Bool, isLast: Bool,
        trailers: UnsafeRawBufferPointer
    ) -> Bool {
        if hasHead && data.isEmpty && !isLast { return holdHead() }
        if !hasHead {
            worker.output.removeAll()
            takeWaitingHead()
        }
        worker.tail.removeAll()
        let isChunked = clientFraming == .chunked
        if isChunked && !data.isEmpty {
            HeadWriter.appendChunkHead(size: data.count, into: &worker.output)
            worker.tail.append("\r\n")
        }
        if isChunked && isLast {
            HeadWriter.appendLastChunk(trailers: trailers, into: &worker.tail)
        }
        if data.count + worker.tail.count <= Self.copiedBytesMax {
            worker.output.append(data)
            worker.output.append(worker.tail.bytes)
            connection.gather(worker.output.bytes)
        } else {
            connection.gather(worker.output.bytes)
            connection.gather(data)
            connection.gather(worker.tail.bytes)
        }
        if case .failed = connection.send() { return false }
        return true
    }

    private func holdHead() -> Bool {
        waitingHead = worker.blocks.take()
        waitingHead.append(worker.output.bytes)
        connection.requestCallBeforeWaiting()
        return true
    }

    /// Moves it to the worker's output.
    private func takeWaitingHead() {
        guard !waitingHead.isEmpty else { return }
        worker.output.append(waitingHead.bytes)
        dropWaitingHead()
    }

    private func dropWaitingHead() {
        guard waitingHead.capacity > 0 else { return }
        var block = ByteBuffer()
        swap(&block, &waitingHead)
        worker.blocks.give(block)
    }

    /// Sends what waits for more; false when the client has gone.
    private func sendWaitingHead() -> Bool {
        guard !waitingHead.isEmpty else { return true }
        worker.output.removeAll()
        takeWaitingHead()
        return sendOwnResponse()
    }

    /// The turn ends, and nothing has come behind the head.
    func turnEnds() {
        if !sendWaitingHead() { abandon() }
    }

    override func sendOwnResponse() -> Bool {
        connection.gather(worker.output.bytes)
        if case .failed = connection.send() { return false }
        return true
    }

    override func cutOff() {
        guard sendWaitingHead() else { return abandon() }
        if clientFraming == .untilClose {
            // Here an orderly end would say that the body is whole.
            finishExchange()
            connection.reset()
        } else {
            finish(closes: true)
        }
    }

    override func finished(closes: Bool) { connection.exchangeFinished(closes: closes) }

    override func clientGone() {
        dropWaitingHead()
        connection.close()
    }

    // MARK: A connection of its own

    override func holdConnection(_ connection: UpstreamConnection) -> Bool {
        guard bound == nil, !self.connection.isClosing else { return false }
        bound = connection
        return true
    }

    override func dropConnection() -> UpstreamConnection? {
        defer { bound = nil }
        return bound
    }

    // MARK: A tunnel

    override func sendToTunnel(_ bytes: UnsafeRawBufferPointer, hasHead: Bool) -> Bool {
        if hasHead { connection.gather(worker.output.bytes) }
        connection.gather(bytes)
        if case .failed = connection.send() { return false }
        return true
    }

    override func takeEarlyBytes() { connection.enterTunnel() }

    override func readClient(_ reads: Bool) {
        reads ? connection.startReading() : connection.stopReading()
    }

    override func endClient() { connection.end() }
    override func resetClient() { connection.reset() }
}
