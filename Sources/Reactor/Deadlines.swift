// Deadlines of streams and their errands. Each list holds those that wait equally long, so that its order is the order
// of arming and both arming and disarming are a few stores. One coarse timer looks at the lists' heads;
// it stands still while nothing waits.

import CUV

/// What a stream waits for; each has one duration per loop.
@frozen
public struct DeadlineKind: Hashable, Sendable {
    package let index: Int

    package init(_ index: Int) {
        precondition((0..<Deadlines.kindsMax).contains(index), "no such deadline list")
        self.index = index
    }
}

/// A place in a list; it never moves.
struct DeadlineNode {
    var next: UnsafeMutablePointer<DeadlineNode>?
    var previous: UnsafeMutablePointer<DeadlineNode>?
    var due: UInt64 = 0
    var kind: Int = -1
    // SAFETY: the owner disarms itself before this node is freed.
    let owner: Unmanaged<Timed>
}

/// All deadlines of one loop.
struct Deadlines: ~Copyable {
    static let kindsMax = 16
    /// How often the heads are looked at: the accuracy of every deadline, in milliseconds.
    static let tickMilliseconds: UInt64 = 100

    private struct List {
        var milliseconds: UInt64 = 0
        var first: UnsafeMutablePointer<DeadlineNode>?
        var last: UnsafeMutablePointer<DeadlineNode>?
    }

    private let lists: UnsafeMutablePointer<List>
    private let timer: UnsafeMutablePointer<uv_timer_t>
    private var armed = 0
    /// Nodes for the next who need one, each with the next of them.
    private var spare: UnsafeMutablePointer<DeadlineNode>?
    private var spareCount = 0
    private static let spareMax = 256

    init() {
        lists = .allocate(capacity: Self.kindsMax)
        lists.initialize(repeating: List(), count: Self.kindsMax)
        timer = .allocate(capacity: 1)
    }

    func open(on loop: EventLoop) throws(ReactorError) {
        try check(uv_timer_init(loop.loop, timer))
        // SAFETY: the loop outlives the timer, which it closes in its `deinit`.
        timer.pointee.data = Unmanaged.passUnretained(loop).toOpaque()
        // A waiting stream must not keep a loop alive that nothing else does.
        uv_unref(UnsafeMutableRawPointer(timer).assumingMemoryBound(to: uv_handle_t.self))
    }

    mutating func close() {
        while let node = spare {
            spare = node.pointee.next
            node.deallocate()
        }
        timer.deallocate()
        lists.deallocate()
    }

    /// Storage for a node, to be initialised by the caller.
    mutating func takeNode() -> UnsafeMutablePointer<DeadlineNode> {
        guard let node = spare else { return .allocate(capacity: 1) }
        spare = node.pointee.next
        spareCount &-= 1
        return node
    }

    /// A node that is not armed and that nobody uses any longer.
    mutating func give(back node: UnsafeMutablePointer<DeadlineNode>) {
        guard spareCount < Self.spareMax else { return node.deallocate() }
        node.pointee.next = spare
        spare = node
        spareCount &+= 1
    }

    func setDuration(_ kind: DeadlineKind, milliseconds: UInt64) {
        let list = lists + kind.index
        list.pointee.milliseconds = milliseconds
    }

    mutating func arm(_ node: UnsafeMutablePointer<DeadlineNode>, _ kind: DeadlineKind, now: UInt64)
    {
        disarm(node)
        let list = lists + kind.index
        guard list.pointee.milliseconds > 0 else { return }
        node.pointee.kind = kind.index
        node.pointee.due = now &+ list.pointee.milliseconds
        node.pointee.previous = list.pointee.last
        node.pointee.next = nil
        if let last = list.pointee.last {
            last.pointee.next = node
        } else {
            list.pointee.first = node
        }
        list.pointee.last = node
        armed &+= 1
        if armed == 1 { startTicking() }
    }

    mutating func disarm(_ node: UnsafeMutablePointer<DeadlineNode>) {
        guard node.pointee.kind >= 0 else { return }
        let list = lists + node.pointee.kind
        let (next, previous) = (node.pointee.next, node.pointee.previous)
        if let previous { previous.pointee.next = next } else { list.pointee.first = next }
        if let next { next.pointee.previous = previous } else { list.pointee.last = previous }
        node.pointee.kind = -1
        armed &-= 1
    }

    /// One whose deadline has passed, disarmed; nil when there is none.
    mutating func takeExpired(now: UInt64) -> (Unmanaged<Timed>, DeadlineKind)? {
        for kind in 0..<Self.kindsMax {
            if let node = lists[kind].first, node.pointee.due <= now {
                disarm(node)
                return (node.pointee.owner, DeadlineKind(kind))
            }
        }
        return nil
    }

    private func startTicking() {
        guard
            uv_is_active(UnsafeMutableRawPointer(timer).assumingMemoryBound(to: uv_handle_t.self))
                == 0
        else { return }
        uv_timer_start(timer, deadlineTick, Self.tickMilliseconds, Self.tickMilliseconds)
    }

    func stopTickingIfIdle() {
        if armed == 0 { uv_timer_stop(timer) }
    }
}

private func deadlineTick(_ timer: UnsafeMutablePointer<uv_timer_t>?) {
    // SAFETY: set by `open`, valid while the timer runs.
    let loop = Unmanaged<EventLoop>.fromOpaque(timer!.pointee.data).takeUnretainedValue()
    while let (owner, kind) = loop.deadlines.takeExpired(now: loop.now) {
        owner.takeUnretainedValue().deadlinePassed(kind)
    }
    loop.deadlines.stopTickingIfIdle()
}
