// Calls that come once at the end of a turn of a loop, before it waits: what many events of one turn have to
// say to one peer goes out in one write. Turns are counted here, since the same call ends each.

import CUV

/// Streams that want to be called before their loop waits.
struct TurnEnd: ~Copyable {
    private let prepare = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)
    private var streams: [ByteStream] = []
    private var wantsCall = false
    private(set) var turn: UInt64 = 0

    func open(on loop: EventLoop) {
        uv_prepare_init(loop.loop, prepare)
        // SAFETY: the loop outlives the handle, which it closes in its `deinit`.
        prepare.pointee.data = Unmanaged.passUnretained(loop).toOpaque()
        uv_prepare_start(prepare, loopWillWait)
        uv_unref(UnsafeMutableRawPointer(prepare).assumingMemoryBound(to: uv_handle_t.self))
    }

    func close() { prepare.deallocate() }

    mutating func add(_ stream: ByteStream) { streams.append(stream) }

    /// The loop's owner wants to be called, after the streams.
    mutating func addOwner() { wantsCall = true }

    mutating func countTurn() { turn &+= 1 }

    mutating func takeOwner() -> Bool {
        defer { wantsCall = false }
        return wantsCall
    }

    /// Those who want to be called; nobody does any longer.
    mutating func takeAll() -> [ByteStream] {
        guard !streams.isEmpty else { return [] }
        let taken = streams
        streams = []
        return taken
    }
}

private func loopWillWait(_ prepare: UnsafeMutablePointer<uv_prepare_t>?) {
    // SAFETY: see `open`.
    let loop = Unmanaged<EventLoop>.fromOpaque(prepare!.pointee.data).takeUnretainedValue()
    loop.turnEnd.countTurn()
    // A call may bring about others; nobody may be left for a turn that may never come.
    while true {
        let streams = loop.turnEnd.takeAll()
        if streams.isEmpty {
            if loop.turnEnd.takeOwner() { loop.callAfterTurn() }
            return
        }
        for stream in streams { stream.callBeforeWaiting() }
    }
}
