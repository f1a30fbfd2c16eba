// One client of the server: its socket, what it is in the middle of, and until when. Only the server's
// thread touches it.

import Bytes

final class ServerConnection {
    enum State {
        /// Waits for a request or its rest.
        case reading
        /// The handler runs, or the rest of its answer is awaited; nothing is read meanwhile.
        case answering(Task<Void, Never>)
        case writing(goesOn: Bool)
        /// Everything was sent and our side shut; what still comes is dropped, since closing a socket
        /// with unread bytes would take the answer back (RFC 9112 section 9.6).
        case lingering
    }

    let descriptor: Int32
    let peerPort: UInt16
    var reader: RequestReader
    var state = State.reading
    var rules = AnswerRules.refusal
    var output = ByteBuffer()
    /// Where the rest of an open body comes from.
    var rest: ServerBodyRest?
    /// When it is closed for being slow; never while the handler runs.
    var deadline: UInt64
    /// When it last sent or took something; who has kept still for the longest makes room.
    var lastHeard: UInt64
    /// The deadline stands for the whole head or body, so that a byte now and then wins no time.
    private var deadlineIsFor = Wait.firstHead

    private enum Wait {
        case firstHead, idle, head, body
    }

    init(
        descriptor: Int32, peerPort: UInt16, limits: ServerLimits, headGuard: HeadGuard?,
        now: UInt64
    ) {
        self.descriptor = descriptor
        self.peerPort = peerPort
        reader = RequestReader(limits: limits, peerPort: peerPort, headGuard: headGuard)
        deadline = now + limits.headMilliseconds
        lastHeard = now
    }

    var isReading: Bool {
        if case .reading = state { true } else { false }
    }

    /// Whether it may be closed to make room: no handler works for it.
    var canMakeRoom: Bool {
        switch state {
        case .reading, .writing, .lingering: true
        case .answering: false
        }
    }

    /// Begins to wait for the next request.
    func startReading(_ limits: ServerLimits, now: UInt64) {
        state = .reading
        deadlineIsFor = .idle
        deadline = now + limits.idleMilliseconds
    }

    /// Sets the deadline by what the reader waits for.
    func keepReading(_ limits: ServerLimits, now: UInt64) {
        let wait: Wait =
            reader.isInBody ? .body : reader.isFresh ? .firstHead : reader.isIdle ? .idle : .head
        guard wait != deadlineIsFor else { return }
        deadlineIsFor = wait
        switch wait {
        case .firstHead, .head: deadline = now + limits.headMilliseconds
        case .idle: deadline = now + limits.idleMilliseconds
        case .body: deadline = now + limits.bodyMilliseconds
        }
    }
}
