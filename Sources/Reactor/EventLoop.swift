// One libuv loop and what its streams share: the buffer that reads land in, the gather list of a
// write, and the deadlines. Confined to the thread that runs it; only a Waker crosses threads.

import Bytes
import CUV

/// A loop to be run by one thread.
package final class EventLoop {
    let loop: UnsafeMutablePointer<uv_loop_t>
    /// Reads of every stream land here; a handler that needs bytes later copies them.
    let readBuffer: UnsafeMutableRawBufferPointer
    /// Decrypted bytes of every TLS stream land here.
    let plainBuffer: UnsafeMutableRawBufferPointer
    /// Ciphertext on its way into a socket, empty between writes.
    var cipherBuffer = ByteBuffer()
    var gathered = GatherList()
    var deadlines: Deadlines
    var turnEnd = TurnEnd()
    var pauses = PauseWatch()
    /// Called once at the end of a turn after `requestCallAfterTurn`; it starts nothing on the loop.
    package var callAfterTurn: () -> Void = {}

    /// The most that one read takes. Larger reads cost fewer system calls on big bodies; one buffer
    /// serves the whole loop, so it costs memory once.
    package static let readBytesMax = 128 * 1024

    package init() throws(ReactorError) {
        loop = .allocate(capacity: 1)
        readBuffer = .allocate(byteCount: Self.readBytesMax, alignment: 64)
        plainBuffer = .allocate(byteCount: Self.readBytesMax, alignment: 64)
        let result = uv_loop_init(loop)
        deadlines = Deadlines()
        guard result == 0 else { throw ReactorError(code: result) }
        try deadlines.open(on: self)
        try pauses.open(on: self)
        turnEnd.open(on: self)
    }

    deinit {
        // Whatever is still open at this point was abandoned by its owner: close it, let the close
        // callbacks run, then the loop can go.
        uv_walk(loop, { handle, _ in if uv_is_closing(handle) == 0 { uv_close(handle, nil) } }, nil)
        uv_run(loop, UV_RUN_DEFAULT)
        uv_loop_close(loop)
        deadlines.close()
        pauses.close()
        turnEnd.close()
        loop.deallocate()
        readBuffer.deallocate()
        plainBuffer.deallocate()
    }

    /// Milliseconds of the monotonic clock, read once per turn (uv_now).
    package var now: UInt64 { uv_now(loop) }

    /// What has happened by one look at all sockets is handled in one turn, which this names. A loop that has
    /// more than it sees at once looks again within a turn, but not at the same time of its clock.
    package var turn: Turn { Turn(number: turnEnd.turn, time: now) }

    /// One turn of a loop.
    package struct Turn: Hashable, Sendable {
        let number: UInt64
        let time: UInt64
    }

    /// Runs until `stop` or until nothing is open.
    package func run() { uv_run(loop, UV_RUN_DEFAULT) }

    /// Waits for something to happen, handles it and returns.
    package func runOnce() { uv_run(loop, UV_RUN_ONCE) }

    /// Handles what has already happened and returns.
    package func runWithoutWaiting() { uv_run(loop, UV_RUN_NOWAIT) }

    /// How long streams of this loop wait for the kind of thing; 0 means for ever.
    package func setDuration(_ kind: DeadlineKind, milliseconds: UInt64) {
        deadlines.setDuration(kind, milliseconds: milliseconds)
    }

    package func requestCallAfterTurn() { turnEnd.addOwner() }

    /// Makes `run` return after the current turn.
    package func stop() { uv_stop(loop) }
}
