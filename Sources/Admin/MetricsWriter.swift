// Writes families of metrics and their samples (Prometheus exposition formats, text format 0.0.4). It knows how a
// line looks, not what is counted.

import Vocabulary

/// A text under construction: `family`, then its samples, then the next.
struct MetricsWriter {
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    typealias Label = (String, String)

    private(set) var text = ""
    private var name = ""

    private static let prefix = "credential_proxy_"

    /// Begins a family.
    ///
    /// - Parameter own: false for a name that all programs share.
    mutating func family(_ name: String, _ kind: Kind, _ help: String, own: Bool = true) {
        self.name = own ? Self.prefix + name : name
        text += "# HELP \(self.name) \(help)\n# TYPE \(self.name) \(kind.rawValue)\n"
    }

    mutating func sample(_ labels: [Label], _ value: some BinaryInteger) {
        line("", labels, "\(value)")
    }

    /// One sample for each cause that there was.
    mutating func causes(_ labels: [Label], _ counts: [String: UInt64]) {
        for (cause, count) in counts.sorted(by: { $0.key < $1.key }) {
            sample(labels + [("cause", cause)], count)
        }
    }

    /// Buckets add up, as the format wants it.
    mutating func histogram(_ labels: [Label], _ histogram: Histogram) {
        var sum: UInt64 = 0
        for (bucket, count) in histogram.counts.enumerated() {
            sum &+= count
            let bound =
                bucket < Histogram.bounds.count
                ? Self.seconds(Histogram.bounds[bucket]) : "+Inf"
            line("_bucket", labels + [("le", bound)], "\(sum)")
        }
        line("_sum", labels, Self.seconds(histogram.sum))
        line("_count", labels, "\(sum)")
    }

    private mutating func line(_ suffix: String, _ labels: [Label], _ value: String) {
        text += name + suffix
        if !labels.isEmpty {
            let list = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }
            text += "{" + list.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    /// Milliseconds as seconds, without zeros at the end.
    static func seconds(_ milliseconds: UInt64) -> String {
        let (whole, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return "\(whole)" }
        var digits = String(rest)
        digits = String(repeating: "0", count: 3 - digits.utf8.count) + digits
        while digits.last == "0" { digits.removeLast() }
        return "\(whole).\(digits)"
    }

    /// A label's value: backslash, quote and line feed are escaped, nothing else is.
    private static func escaped(_ value: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
