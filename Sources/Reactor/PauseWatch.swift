// Looks after streams that are not read. Nothing is wanted of their descriptors then, so libuv does not look at
// them, and a peer that resets the connection would be noticed when it is read again, which may be never. An
// orderly end is no concern here: it waits behind the bytes before it.

import CUV
import Glibc

/// The streams of one loop that wait to be read again, or have nothing more to be read.
struct PauseWatch: ~Copyable {
    /// How often they are looked at, in milliseconds; the timer stands still while there are none.
    static let tickMilliseconds: UInt64 = 500

    private let timer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
    // SAFETY: a stream is removed before it closes, and lives until it is closed.
    private var streams: [Unmanaged<ByteStream>] = []

    func open(on loop: EventLoop) throws(ReactorError) {
        try check(uv_timer_init(loop.loop, timer))
        // SAFETY: the loop outlives the timer, which it closes in its `deinit`.
        timer.pointee.data = Unmanaged.passUnretained(loop).toOpaque()
        uv_unref(UnsafeMutableRawPointer(timer).assumingMemoryBound(to: uv_handle_t.self))
    }

    func close() { timer.deallocate() }

    mutating func add(_ stream: ByteStream) {
        guard stream.pausePlace < 0 else { return }
        stream.pausePlace = streams.count
        // SAFETY: see `streams`.
        streams.append(Unmanaged.passUnretained(stream))
        if streams.count == 1 { startTicking() }
    }

    mutating func remove(_ stream: ByteStream) {
        let place = stream.pausePlace
        guard place >= 0 else { return }
        stream.pausePlace = -1
        let last = streams.removeLast()
        guard place < streams.count else { return }
        streams[place] = last
        // SAFETY: see `streams`.
        last._withUnsafeGuaranteedRef { $0.pausePlace = place }
    }

    /// Those whose connection is broken, removed: by a reset (poll(2), POLLERR), or by the end of a Unix socket's
    /// peer, which knows no reset and hangs up (POLLHUP).
    mutating func takeBroken() -> [ByteStream] {
        // SAFETY: see `streams`.
        var entries = streams.map {
            pollfd(fd: $0.takeUnretainedValue().descriptor, events: 0, revents: 0)
        }
        guard poll(&entries, nfds_t(entries.count), 0) > 0 else { return [] }
        // SAFETY: see `streams`.
        let broken = streams.indices.filter { entries[$0].revents != 0 }
            .map { ($0, streams[$0].takeUnretainedValue()) }
            .filter { entries[$0].revents & Int16(POLLERR) != 0 || $1.hasUnixPeerHungUp }
            .map { $1 }
        for stream in broken { remove(stream) }
        return broken
    }

    private func startTicking() {
        guard
            uv_is_active(UnsafeMutableRawPointer(timer).assumingMemoryBound(to: uv_handle_t.self))
                == 0
        else { return }
        uv_timer_start(timer, pauseTick, Self.tickMilliseconds, Self.tickMilliseconds)
    }

    func stopTickingIfIdle() {
        if streams.isEmpty { uv_timer_stop(timer) }
    }
}

private func pauseTick(_ timer: UnsafeMutablePointer<uv_timer_t>?) {
    // SAFETY: set by `open`, valid while the timer runs.
    let loop = Unmanaged<EventLoop>.fromOpaque(timer!.pointee.data).takeUnretainedValue()
    for stream in loop.pauses.takeBroken() { stream.losePeer() }
    loop.pauses.stopTickingIfIdle()
}
