// One call at a later time. For the few things of a loop that are no stream's deadline.

import CUV

/// Calls back once, on the loop's thread, unless it is cancelled before.
package final class LoopTimer {
    private let timer: UnsafeMutablePointer<uv_timer_t>
    private var action: (() -> Void)?

    /// - Parameter milliseconds: from the loop's current time.
    package init(
        on loop: EventLoop, milliseconds: UInt64, action: @escaping () -> Void
    ) {
        self.action = action
        timer = .allocate(capacity: 1)
        uv_timer_init(loop.loop, timer)
        // SAFETY: released by the close callback, which `fire` or `cancel` brings about once.
        timer.pointee.data = Unmanaged.passRetained(self).toOpaque()
        uv_timer_start(timer, timerFired, milliseconds, 0)
    }

    package func cancel() {
        guard action != nil else { return }
        action = nil
        let handle = UnsafeMutableRawPointer(timer).assumingMemoryBound(to: uv_handle_t.self)
        uv_close(handle) { handle in
            // SAFETY: see `init`; libuv calls nothing after this.
            Unmanaged<LoopTimer>.fromOpaque(handle!.pointee.data).release()
            handle!.deallocate()
        }
    }

    fileprivate func fire() {
        let action = action
        cancel()
        action?()
    }
}

private func timerFired(_ timer: UnsafeMutablePointer<uv_timer_t>?) {
    // SAFETY: see LoopTimer.init.
    Unmanaged<LoopTimer>.fromOpaque(timer!.pointee.data).takeUnretainedValue().fire()
}
