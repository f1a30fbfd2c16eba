// Two clocks, never mixed: what is written to disk or sent by a provider is wall time; what a process
// waits for is boot time, which neither stops in suspend nor steps.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Seconds since 1970-01-01 UTC.
package struct WallTime: Hashable, Comparable, Sendable {
    package var seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    package static func < (left: WallTime, right: WallTime) -> Bool { left.seconds < right.seconds }

    /// Clamped, never overflowing.
    package var milliseconds: Int64 {
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (seconds < 0 ? .min : .max) : milliseconds
    }

    /// Clamped, never overflowing.
    package func advanced(by seconds: Int64) -> WallTime {
        let (sum, overflow) = self.seconds.addingReportingOverflow(seconds)
        return WallTime(seconds: overflow ? (seconds < 0 ? .min : .max) : sum)
    }
}

/// Milliseconds since boot, suspend included (CLOCK_BOOTTIME, clock_gettime(2)).
@usableFromInline
@frozen
package struct BootTime: Hashable, Comparable, Sendable {
    @usableFromInline package var milliseconds: UInt64

    @inlinable
    package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

    @inlinable
    package static func < (left: BootTime, right: BootTime) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Clamped, never overflowing.
    package func advanced(byMilliseconds delta: UInt64) -> BootTime {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return BootTime(milliseconds: overflow ? .max : sum)
    }
}

/// Reads both clocks and waits; tests put a manual one in its place.
package protocol TimeSource: Sendable {
    func wallTime() -> WallTime
    /// The same clock in milliseconds since 1970-01-01 UTC, for what must not be off by a second.
    func wallMilliseconds() -> Int64
    func bootTime() -> BootTime
    /// Returns after the duration, or throws when the task is cancelled.
    func sleep(milliseconds: UInt64) async throws(CancellationError)
}

extension TimeSource {
    /// As exact as a clock of whole seconds can be.
    package func wallMilliseconds() -> Int64 { wallTime().milliseconds }
}

/// The machine's own clocks.
package struct SystemTime: TimeSource {
    package init() {}

    package func wallTime() -> WallTime {
        WallTime(seconds: Int64(Self.read(CLOCK_REALTIME).tv_sec))
    }

    package func wallMilliseconds() -> Int64 {
        let now = Self.read(CLOCK_REALTIME)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    package func bootTime() -> BootTime { Self.bootTime() }

    /// For workers, which take no protocol.
    package static func bootTime() -> BootTime {
        #if canImport(Glibc)
            let now = read(CLOCK_BOOTTIME)
        #else
            let now = read(CLOCK_MONOTONIC)
        #endif
        return BootTime(milliseconds: UInt64(now.tv_sec) * 1000 + UInt64(now.tv_nsec) / 1_000_000)
    }

    package func sleep(milliseconds: UInt64) async throws(CancellationError) {
        do {
            try await Task.sleep(for: .milliseconds(Int64(clamping: milliseconds)))
        } catch {
            throw CancellationError()
        }
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
