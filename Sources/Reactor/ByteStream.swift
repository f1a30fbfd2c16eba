// A connected socket on a loop: bytes in by calls of `did…`, bytes out by `send`. It owns its handle and
// keeps itself alive until libuv has closed it. It knows no protocol above TLS.
//
// Writes are tried at once. What the kernel does not take is copied and sent when it can be; until
// `didFlush` the owner should send no more, so that what waits stays bounded by one piece of work.

import Bytes
import CUV
package import Crypto
import Glibc

/// A connection. Subclasses say what its events mean; every call is made on the loop's thread.
open class ByteStream: Timed {
    private let handles: StreamHandles
    /// What the kernel would not take; `inFlight` belongs to libuv until its callback.
    private var inFlight = ByteBuffer()
    private var waiting = ByteBuffer()
    private var isWriting = false
    /// The socket, which is libuv's; -1 before there is one.
    private(set) var descriptor: Int32 = -1
    /// Its place among those that are not read; -1 for none.
    var pausePlace = -1
    /// Nil on a plain connection.
    private var tls: TLSFilter?
    private var endsAfterFlush = false
    private var hasEndedWriting = false
    private var isCallRequested = false
    // What the loop's present turn has brought; see `SharedTurn`.
    private var readInTurn = SharedTurn()
    private var writtenInTurn = SharedTurn()
    private var readsNextTurn = false
    private var writesAtTurnEnd = false
    package private(set) var isClosing = false
    package private(set) var isReading = false
    /// The peer has sent all that it will.
    package private(set) var hasEnded = false
    /// The socket takes no more bytes: the peer reset it or closed its side.
    package private(set) var hasFailedWriting = false
    /// Why TLS failed, when `didFail` says `ReactorError.tls`.
    package var tlsFailure: TLSError? { tls?.failure }
    /// The newest session that the peer offered, to be resumed by another connection.
    package var newestSession: TLSSession? { tls?.newestSession }

    /// What ALPN agreed on, once `didSecure` was called.
    package var negotiatedProtocol: String? { tls?.negotiatedProtocol }

    /// A stream without a socket; `open` or a listener's `accept` gives it one.
    package override init(on loop: EventLoop) {
        let handles = StreamHandles()
        self.handles = handles
        super.init(on: loop, node: handles.node)
        let result = uv_tcp_init(loop.loop, handles.tcp)
        precondition(result == 0, "uv_tcp_init only fails for an unknown address family")
        // SAFETY: balanced in the close callback, so every callback finds the stream alive.
        let retained = Unmanaged.passRetained(self)
        handles.tcp.pointee.data = retained.toOpaque()
        handles.write.pointee.data = retained.toOpaque()
        handles.shutdown.pointee.data = retained.toOpaque()
    }

    deinit { handles.deallocate() }

    // MARK: What subclasses answer

    /// The TLS handshake is done and the peer is who it should be.
    open func didSecure() {}

    /// Bytes arrived. They may be changed in place and are gone when the call returns. After
    /// `stopReading` what one read of the socket brought may still come.
    open func didReceive(_ bytes: UnsafeMutableRawBufferPointer) {}

    /// The peer will send no more; it may still read.
    open func didEnd() {}

    /// The connection failed; the subclass should close.
    open func didFail(_ error: ReactorError) {}

    /// What waited to be sent cannot be. What the peer sent before can still be read, and its end will be told.
    open func didFailWriting(_ error: ReactorError) { didFail(error) }

    /// Everything sent so far is in the kernel's hands, after `send` had said otherwise.
    open func didFlush() {}

    /// The loop is about to wait, after `requestCallBeforeWaiting`.
    open func willWait() {}

    /// The peer has reset the connection while nothing was read from it. What came before that can still be read.
    open func didLosePeer() {}

    /// The socket is closed and no further call will come.
    open func didClose() {}

    // MARK: Opening

    /// Takes over a connected socket, which is closed with the stream.
    package func open(descriptor: Int32) throws(ReactorError) {
        try check(uv_tcp_open(handles.tcp, descriptor))
        self.descriptor = descriptor
        uv_tcp_nodelay(handles.tcp, 1)
    }

    /// Takes the listener's next connection.
    func accept(from listener: UnsafeMutablePointer<uv_stream_t>) throws(ReactorError) {
        try check(uv_accept(listener, handles.stream))
        uv_fileno(handles.handle, &descriptor)
        uv_tcp_nodelay(handles.tcp, 1)
    }

    // MARK: Reading

    package func startReading() {
        guard !isReading, !isClosing, !hasEnded else { return }
        isReading = true
        if pausePlace >= 0 { loop.pauses.remove(self) }
        if readsNextTurn { return }
        uv_read_start(handles.stream, lendReadBuffer, bytesRead)
    }

    /// No bytes and no end are reported until reading starts again: this is the back-pressure.
    package func stopReading() {
        guard isReading else { return }
        isReading = false
        uv_read_stop(handles.stream)
        loop.pauses.add(self)
    }

    /// For PauseWatch, where the descriptor hangs up: on a Unix socket both directions have ended then, and this is no
    /// more than an exchange of ends where we have ended ours.
    var hasUnixPeerHungUp: Bool { !hasEndedWriting && PeerFacts.isUnix(descriptor) }

    /// Found by PauseWatch.
    func losePeer() {
        guard !isClosing else { return }
        hasFailedWriting = true
        didLosePeer()
    }

    /// Who sends without a pause waits for the others of the turn.
    private func shareTurn(_ count: Int) {
        let sum = readInTurn.add(count, in: loop.turnEnd.turn)
        guard sum >= SharedTurn.readBytesMax else { return }
        readsNextTurn = true
        uv_read_stop(handles.stream)
        requestCallBeforeWaiting()
    }

    fileprivate func received(_ count: Int) {
        if count > 0 {
            shareTurn(count)
            let bytes = UnsafeMutableRawBufferPointer(rebasing: loop.readBuffer[..<count])
            if let tls {
                tls.feed(UnsafeRawBufferPointer(bytes))
                decrypt(tls)
            } else {
                didReceive(bytes)
            }
        } else if count == Int(UV_EOF.rawValue) {
            stopReading()
            if let tls {
                tls.feedEnd()
                decrypt(tls)
            } else {
                hasEnded = true
                didEnd()
            }
        } else if count < 0 {
            stopReading()
            hasFailedWriting = true
            didFail(ReactorError(code: Int32(truncatingIfNeeded: count)))
        }
    }

    // MARK: Writing

    /// Whether everything sent so far is in the kernel's hands.
    package var isFlushed: Bool { !isWriting && waiting.isEmpty }

    /// How many bytes the kernel has not taken yet.
    package var unflushedCount: Int { handles.stream.pointee.write_queue_size + waiting.count }

    /// Adds a piece to the next `send`. The bytes must stay as they are until then.
    package func gather(_ bytes: UnsafeRawBufferPointer) {
        loop.gathered.add(bytes)
    }

    /// Sends the gathered pieces. The answer says how much the kernel took of them at once; the rest
    /// was copied and `didFlush` will tell when it is out.
    @discardableResult
    package func send() -> SendOutcome {
        defer { loop.gathered.removeAll() }
        guard !isClosing, !hasFailedWriting else { return .failed(nothingSent: true) }
        let total = loop.gathered.byteCount
        guard total > 0 else { return .sent }
        if let tls { return sendEncrypted(tls) }
        if isFlushed && mayWriteNow() {
            let taken = tryToWrite()
            if taken == Int32(total) { return .sent }
            if taken > 0 {
                loop.gathered.consume(Int(taken))
            } else if taken != UV_EAGAIN.rawValue {
                hasFailedWriting = true
                return .failed(nothingSent: true)
            }
        }
        for index in 0..<loop.gathered.count { waiting.append(loop.gathered[index]) }
        flushWaiting()
        return hasFailedWriting ? .failed(nothingSent: false) : .waiting
    }

    /// False where the turn has seen many writes: what comes behind them goes out together at its end.
    private func mayWriteNow() -> Bool {
        if writtenInTurn.add(1, in: loop.turnEnd.turn) <= SharedTurn.writesMax { return true }
        writesAtTurnEnd = true
        requestCallBeforeWaiting()
        return false
    }

    /// How much of the gathered pieces the kernel takes now, or a negative code of libuv's. One piece, the rule, is
    /// sent by send(2), which costs less than the write(2) of uv_try_write.
    private func tryToWrite() -> Int32 {
        loop.gathered.withPieces { pieces, count in
            guard count == 1 else { return uv_try_write(handles.stream, pieces, count) }
            let taken = Glibc.send(
                descriptor, pieces[0].base, pieces[0].len, Int32(MSG_NOSIGNAL))
            return Int32(truncatingIfNeeded: taken >= 0 ? taken : Int(-errno))
        }
    }

    /// Closes the sending side once everything is out; reading goes on.
    package func end() {
        guard !isClosing, !hasFailedWriting else { return }
        if let tls, !endsAfterFlush {
            tls.shutdown()
            moveCiphertext(tls)
        }
        guard isFlushed else {
            endsAfterFlush = true
            return
        }
        endsAfterFlush = false
        hasEndedWriting = true
        uv_shutdown(handles.shutdown, handles.stream) { _, _ in }
    }

    private func flushWaiting() {
        guard !isWriting, !writesAtTurnEnd, !waiting.isEmpty else { return }
        swap(&inFlight, &waiting)
        isWriting = true
        var piece = uv_buf_t(
            base: inFlight.mutableBytes.baseAddress?.assumingMemoryBound(to: CChar.self),
            len: inFlight.count)
        let result = uv_write(handles.write, handles.stream, &piece, 1, bytesWritten)
        if result < 0 {
            isWriting = false
            hasFailedWriting = true
        }
    }

    fileprivate func written(_ status: Int32) {
        isWriting = false
        // A burst must not leave its buffer with every connection that once was slow.
        inFlight = ByteBuffer()
        guard !isClosing else { return }
        if status < 0 {
            hasFailedWriting = true
            waiting = ByteBuffer()
            didFailWriting(ReactorError(code: status))
            return
        }
        flushWaiting()
        guard isFlushed else { return }
        if endsAfterFlush { end() }
        didFlush()
    }

    // MARK: TLS

    /// Speaks TLS from here on. Nothing may be sent before `didSecure`.
    package func secure(with connection: consuming TLSConnection) {
        let tls = TLSFilter(connection)
        self.tls = tls
        startReading()
        decrypt(tls)
    }

    /// Gives the record buffers back while the connection is idle.
    package func releaseBuffers() { tls?.releaseBuffers() }

    /// Goes on with the handshake, then hands over what can be decrypted.
    private func decrypt(_ tls: TLSFilter) {
        if !tls.isEstablished {
            let progress = tls.handshake()
            moveCiphertext(tls)
            switch progress {
            case .ready: didSecure()
            case .wantRead, .wantWrite: return
            case .closed, .failed: return failTLS()
            }
        }
        while !isClosing && !hasEnded {
            let progress = tls.read(into: loop.plainBuffer)
            moveCiphertext(tls)
            switch progress {
            case .ready(let count):
                didReceive(UnsafeMutableRawBufferPointer(rebasing: loop.plainBuffer[..<count]))
            case .wantRead, .wantWrite: return
            case .closed:
                hasEnded = true
                stopReading()
                didEnd()
            case .failed: failTLS()
            }
        }
    }

    private func failTLS() {
        guard !isClosing else { return }
        stopReading()
        hasEnded = true
        hasFailedWriting = true
        didFail(.tls)
    }

    private func sendEncrypted(_ tls: TLSFilter) -> SendOutcome {
        var anythingSent = false
        for index in 0..<loop.gathered.count {
            var rest = loop.gathered[index]
            while !rest.isEmpty {
                switch tls.write(rest) {
                case .ready(let count):
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case .wantWrite: break
                case .wantRead, .closed, .failed:
                    hasFailedWriting = true
                    return .failed(nothingSent: !anythingSent)
                }
                anythingSent = moveCiphertext(tls) || anythingSent
                if hasFailedWriting { return .failed(nothingSent: !anythingSent) }
            }
        }
        return isFlushed ? .sent : .waiting
    }

    /// Sends what TLS has produced, or lets it wait; false if nothing of it left.
    @discardableResult
    private func moveCiphertext(_ tls: TLSFilter, closes: Bool = false) -> Bool {
        let bytes = tls.pendingCiphertext
        guard !bytes.isEmpty, !isClosing, !hasFailedWriting else { return false }
        var taken = 0
        if isFlushed && (closes || mayWriteNow()) {
            var piece = uv_buf_t(
                base: UnsafeMutablePointer(
                    mutating: bytes.baseAddress!.assumingMemoryBound(to: CChar.self)),
                len: bytes.count)
            let result = uv_try_write(handles.stream, &piece, 1)
            if result < 0 && result != UV_EAGAIN.rawValue {
                hasFailedWriting = true
                return false
            }
            taken = max(0, Int(result))
        }
        waiting.append(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
        tls.consumeCiphertext(bytes.count)
        flushWaiting()
        return true
    }

    /// Has `willWait` called once, at the end of this turn of the loop.
    package func requestCallBeforeWaiting() {
        guard !isCallRequested, !isClosing else { return }
        isCallRequested = true
        loop.turnEnd.add(self)
    }

    func callBeforeWaiting() {
        isCallRequested = false
        if isClosing { return }
        if readsNextTurn {
            readsNextTurn = false
            if isReading { uv_read_start(handles.stream, lendReadBuffer, bytesRead) }
        }
        willWait()
        if writesAtTurnEnd {
            writesAtTurnEnd = false
            flushWaiting()
        }
    }

    /// A stream that is closing waits for nothing.
    package override func arm(_ kind: DeadlineKind) {
        if !isClosing { super.arm(kind) }
    }

    // MARK: Closing

    /// Closes at once; what was not flushed is lost.
    package func close() {
        guard !isClosing else { return }
        if let tls, tls.isEstablished, isFlushed {
            // Tells the peer that the end is meant; whether it hears it does not matter.
            tls.shutdown()
            moveCiphertext(tls, closes: true)
        }
        isClosing = true
        isReading = false
        loop.pauses.remove(self)
        disarm()
        uv_close(handles.handle, handleClosed)
    }

    /// Closes with a reset, so that the peer cannot take a cut answer for a whole one.
    package func reset() {
        guard !isClosing else { return }
        isClosing = true
        isReading = false
        loop.pauses.remove(self)
        disarm()
        if uv_tcp_close_reset(handles.tcp, handleClosed) < 0 {
            uv_close(handles.handle, handleClosed)
        }
    }

    /// The other side's address without brackets and port; "unknown" where it has none, as on a Unix
    /// socket.
    package var peerAddress: String {
        isClosing ? "unknown" : PeerFacts.address(descriptor) ?? "unknown"
    }

    /// The user of the process at the other end of a Unix socket, as it was when it connected (unix(7),
    /// SO_PEERCRED); nil on any other socket.
    package var peerUser: UInt32? { isClosing ? nil : PeerFacts.user(descriptor) }

    /// Whether bytes or an end wait in the kernel unseen: for a connection that ought to be silent, a sign that it
    /// is of no more use.
    package var hasUnreadInput: Bool { isClosing || peek() >= 0 }

    /// Whether bytes wait there. To close before them resets the connection, which can take with it what was sent.
    package var hasUnreadBytes: Bool { isClosing || peek() > 0 }

    /// 1 for a byte, 0 for an end, else negative (recv(2), MSG_PEEK).
    private func peek() -> Int {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    }
}

/// What became of a `send`.
package enum SendOutcome {
    /// The kernel has it all.
    case sent
    /// Some of it waits in the stream; hold back until `didFlush`.
    case waiting
    /// The peer is gone. `nothingSent` is true only when not one byte of this send can have left.
    case failed(nothingSent: Bool)
}

// MARK: Callbacks
//
// SAFETY, for all of them: `data` is the stream, retained by its `init` and released by `handleClosed`,
// which libuv calls last.

private func lendReadBuffer(
    _ handle: UnsafeMutablePointer<uv_handle_t>?, _ suggested: Int,
    _ buffer: UnsafeMutablePointer<uv_buf_t>?
) {
    // SAFETY: see above.
    Unmanaged<ByteStream>.fromOpaque(handle!.pointee.data)._withUnsafeGuaranteedRef { stream in
        let lent = stream.loop.readBuffer
        buffer!.pointee.base = lent.baseAddress!.assumingMemoryBound(to: CChar.self)
        buffer!.pointee.len = lent.count
    }
}

private func bytesRead(
    _ handle: UnsafeMutablePointer<uv_stream_t>?, _ count: Int, _ buffer: UnsafePointer<uv_buf_t>?
) {
    // SAFETY: see above.
    Unmanaged<ByteStream>.fromOpaque(handle!.pointee.data)._withUnsafeGuaranteedRef {
        $0.received(count)
    }
}

private func bytesWritten(_ request: UnsafeMutablePointer<uv_write_t>?, _ status: Int32) {
    // SAFETY: see above.
    Unmanaged<ByteStream>.fromOpaque(request!.pointee.data)._withUnsafeGuaranteedRef {
        $0.written(status)
    }
}

private func handleClosed(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    // SAFETY: see above; this is the release that balances `init`.
    let stream = Unmanaged<ByteStream>.fromOpaque(handle!.pointee.data).takeRetainedValue()
    stream.didClose()
}
