// Whatever can wait for something on a loop: a connection, or one of several errands on a connection. It has
// at most one deadline at a time.

/// Base of what has deadlines; every call is made on the loop's thread.
open class Timed {
    package let loop: EventLoop
    private let node: UnsafeMutablePointer<DeadlineNode>
    private let ownsNode: Bool

    package init(on loop: EventLoop) {
        self.loop = loop
        node = loop.deadlines.takeNode()
        ownsNode = true
        // SAFETY: `deinit` disarms the node.
        node.initialize(to: DeadlineNode(owner: Unmanaged.passUnretained(self)))
    }

    /// With a node inside another allocation of the subclass, which disarms it before it frees it.
    init(on loop: EventLoop, node: UnsafeMutablePointer<DeadlineNode>) {
        self.loop = loop
        self.node = node
        ownsNode = false
        // SAFETY: see above.
        node.initialize(to: DeadlineNode(owner: Unmanaged.passUnretained(self)))
    }

    deinit {
        guard ownsNode else { return }
        disarm()
        loop.deadlines.give(back: node)
    }

    /// The deadline passed; it is no longer armed.
    open func deadlinePassed(_ kind: DeadlineKind) {}

    /// Starts the one deadline; an earlier one is forgotten.
    package func arm(_ kind: DeadlineKind) {
        loop.deadlines.arm(node, kind, now: loop.now)
    }

    package func disarm() { loop.deadlines.disarm(node) }
}
