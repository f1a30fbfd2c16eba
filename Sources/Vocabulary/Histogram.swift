// How long things took, as counts by length: small enough to be kept for each route, exact enough to
// say where the time goes. It keeps no single value.

/// Durations in milliseconds, counted in fixed buckets; two of them can be added.
@usableFromInline
package struct Histogram: Hashable, Sendable {
    /// The upper end of each bucket, itself included; a last bucket has no end.
    package static let bounds: [UInt64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000,
    ]

    /// The first of them, for whoever looks there first.
    @inlinable package static var firstBound: UInt64 { 1 }

    /// One more than there are bounds; each value is in one of them.
    package private(set) var counts: [UInt64]
    /// Of all values, in milliseconds.
    package private(set) var sum: UInt64

    package init() {
        counts = Array(repeating: 0, count: Self.bounds.count + 1)
        sum = 0
    }

    /// What was counted elsewhere in the same buckets.
    package init(counts: [UInt64], sum: UInt64) {
        precondition(counts.count == Self.bounds.count + 1, "a histogram has these buckets only")
        self.counts = counts
        self.sum = sum
    }

    /// How many values there were.
    package var count: UInt64 { counts.reduce(0, &+) }

    /// The bucket of a value.
    package static func bucket(of milliseconds: UInt64) -> Int {
        bounds.firstIndex { milliseconds <= $0 } ?? bounds.count
    }

    package mutating func add(_ milliseconds: UInt64) {
        counts[Self.bucket(of: milliseconds)] &+= 1
        sum &+= milliseconds
    }

    package static func += (left: inout Histogram, right: Histogram) {
        for bucket in left.counts.indices { left.counts[bucket] &+= right.counts[bucket] }
        left.sum &+= right.sum
    }

    /// A length that at least that part of the values do not exceed, as far as the buckets tell: the
    /// upper end of a bucket. Nil without values, and where only the endless bucket would do.
    ///
    /// - Parameter part: 0.5 for the median.
    package func bound(of part: Double) -> UInt64? {
        let wanted = part * Double(count)
        guard count > 0 else { return nil }
        var seen: UInt64 = 0
        for (bucket, bound) in Self.bounds.enumerated() {
            seen &+= counts[bucket]
            if Double(seen) >= wanted { return bound }
        }
        return nil
    }
}
