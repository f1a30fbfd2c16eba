// A small chart of what went through a route lately: a bar for each stretch of time, errors at its foot.
// It is drawn in place and says in words what it shows.

enum Chart {
    private static let height = 40.0
    private static let step = 4

    /// - Parameters:
    ///   - buckets: the oldest first.
    ///   - seconds: the length of each.
    static func html(_ buckets: [RouteFacts.Bucket], seconds: Int) -> String {
        let most = max(buckets.map(\.requests).max() ?? 0, 1)
        let width = max(buckets.count, 1) * step
        var bars = ""
        for (index, bucket) in buckets.enumerated() where bucket.requests > 0 {
            let whole = scaled(bucket.requests, most)
            let errors = bucket.errors == 0 ? 0 : max(3, scaled(bucket.errors, most))
            let x = index * step
            let fine = max(0, whole - errors)
            if fine > 0 { bars += bar("ok", x, height - 1 - Double(whole), fine) }
            if errors > 0 { bars += bar("err", x, height - 1 - Double(errors), errors) }
        }
        return """
            <svg class="chart" viewBox="0 0 \(width) 40" preserveAspectRatio="none" role="img" \
            aria-label="\(words(buckets, seconds: seconds))">\
            <rect class="floor" y="39" width="\(width)" height="1"/>\(bars)</svg>
            """
    }

    private static func words(_ buckets: [RouteFacts.Bucket], seconds: Int) -> String {
        let requests = buckets.reduce(0 as UInt64) { $0 &+ $1.requests }
        let errors = buckets.reduce(0 as UInt64) { $0 &+ $1.errors }
        return "requests: \(Said.number(requests)), errors: \(Said.number(errors)), "
            + "in the last \(buckets.count * seconds / 60) minutes"
    }

    private static func bar(_ kind: String, _ x: Int, _ y: Double, _ height: Int) -> String {
        "<rect class=\"\(kind)\" x=\"\(x)\" y=\"\(Int(y))\" width=\"3\" height=\"\(height)\"/>"
    }

    /// At least one, so that a single request is seen beside a thousand.
    private static func scaled(_ count: UInt64, _ most: UInt64) -> Int {
        max(1, Int((Double(count) / Double(most) * (height - 4)).rounded()))
    }
}
