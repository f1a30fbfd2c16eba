// What went through each route lately, from counts that only grow: a fixed number of stretches of a
// fixed length, the older ones forgotten.

package import Vocabulary

/// Counts of the last minutes. A value; whoever samples owns it.
package struct TrafficHistory: Sendable {
    /// The length of a stretch, and how many are kept.
    package static let seconds = 10
    package static let count = 60

    private struct Route {
        var last: RouteFacts.Bucket
        var buckets: [RouteFacts.Bucket]
    }

    private var routes: [String: Route] = [:]
    private var stretch: UInt64?

    package init() {}

    /// Takes in the counts of a moment, by route. Stretches that nobody sampled are empty, and what came
    /// in them is counted in the one that was.
    package mutating func sample(_ totals: [String: RouteFacts.Bucket], at now: BootTime) {
        let current = now.milliseconds / UInt64(Self.seconds * 1000)
        let passed = stretch.map { Int(clamping: current - min($0, current)) } ?? 0
        stretch = current
        for (name, total) in totals {
            var route =
                routes[name]
                ?? Route(
                    last: total, buckets: [RouteFacts.Bucket](repeating: .none, count: Self.count))
            if passed > 0 {
                let fresh = min(passed, Self.count)
                route.buckets.removeFirst(fresh)
                route.buckets += [RouteFacts.Bucket](repeating: .none, count: fresh)
            }
            // Counts that fell are those of a route that was made anew.
            let since = total.requests < route.last.requests ? .none : route.last
            route.buckets[Self.count - 1].requests += total.requests - since.requests
            route.buckets[Self.count - 1].errors +=
                total.errors >= since.errors ? total.errors - since.errors : total.errors
            route.last = total
            routes[name] = route
        }
        for name in routes.keys where totals[name] == nil { routes[name] = nil }
    }

    /// The oldest first.
    package func buckets(of name: String) -> [RouteFacts.Bucket] {
        routes[name]?.buckets ?? [RouteFacts.Bucket](repeating: .none, count: Self.count)
    }
}

extension RouteFacts.Bucket {
    fileprivate static let none = RouteFacts.Bucket(requests: 0, errors: 0)
}
