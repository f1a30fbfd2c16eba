// Spans of time as people say them.

/// The two largest units: "2d3h", "1h5m", "4m58s", "12s". A negative span counts as none.
func durationText(seconds: Int64) -> String {
    let seconds = max(0, seconds)
    let units: [(name: String, size: Int64)] = [("d", 86400), ("h", 3600), ("m", 60), ("s", 1)]
    guard let first = units.firstIndex(where: { seconds >= $0.size }) else { return "0s" }
    let large = units[first]
    let text = "\(seconds / large.size)\(large.name)"
    guard first + 1 < units.count else { return text }
    let small = units[first + 1]
    return text + "\(seconds % large.size / small.size)\(small.name)"
}
