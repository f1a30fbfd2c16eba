// Reads single values: texts, durations, sizes. A number without its unit is refused, since nobody
// remembers whether it was seconds.

struct ValueReader {
    private let problems: ProblemList

    init(_ problems: ProblemList) { self.problems = problems }

    /// A text without line breaks and control characters; any scalar is one, `8080` and `true` too.
    func text(_ node: YAMLNode, _ key: String) -> Located<String>? {
        guard case .scalar(let text, _) = node.content, !node.isNull else {
            problems.add(node.place, "\(quoted(key)) must be a text, and this is \(node.kind)")
            return nil
        }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            problems.add(node.place, "\(quoted(key)) holds a control character")
            return nil
        }
        return Located(value: text, place: node.place)
    }

    private static let durationUnits: [(suffix: String, milliseconds: UInt64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    private static let sizeUnits: [(suffix: String, bytes: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1),
    ]

    /// `500ms`, `10s`, `5m`, `1h`, `1d`; and several after one another, `1h30m`.
    func duration(
        _ text: Located<String>, _ key: String, in range: ClosedRange<UInt64>
    ) -> UInt64? {
        guard let value = Self.milliseconds(text.value) else {
            let isNumber = !text.value.isEmpty && text.value.utf8.allSatisfy { $0 &- 0x30 < 10 }
            problems.add(
                text.place, "\(quoted(key)) must be a duration, and this is \(quoted(text.value))",
                hint: isNumber
                    ? "say in what: \(text.value.prefix(12))s or \(text.value.prefix(12))m"
                    : "write it like 500ms, 10s, 5m, 1h30m")
            return nil
        }
        guard range.contains(value) else {
            problems.add(
                text.place,
                "\(quoted(key)) must be from \(Self.durationText(range.lowerBound)) to "
                    + "\(Self.durationText(range.upperBound)), and this is \(quoted(text.value))")
            return nil
        }
        return value
    }

    static func milliseconds(_ text: String) -> UInt64? {
        var rest = Substring(text)
        var sum: UInt64 = 0
        var last = UInt64.max
        repeat {
            let digits = rest.prefix { $0.utf8.allSatisfy { $0 &- 0x30 < 10 } }
            rest = rest[digits.endIndex...]
            let letters = rest.prefix { $0.isLetter }
            rest = rest[letters.endIndex...]
            guard let number = UInt64(digits), digits.utf8.count <= 9,
                let unit = durationUnits.first(where: { $0.suffix == letters })?.milliseconds,
                unit < last
            else { return nil }
            last = unit
            // Nine digits of days are far from 64 bits.
            sum += number * unit
        } while !rest.isEmpty
        return sum
    }

    /// The shortest way to write a duration.
    static func durationText(_ milliseconds: UInt64) -> String {
        let unit = durationUnits.last { milliseconds % $0.milliseconds == 0 && milliseconds > 0 }
        return unit.map { "\(milliseconds / $0.milliseconds)\($0.suffix)" } ?? "0s"
    }

    /// `512B`, `64KiB`, `1MiB`, `1GiB`.
    func size(_ text: Located<String>, _ key: String, in range: ClosedRange<Int>) -> Int? {
        let digits = text.value.prefix { $0.utf8.allSatisfy { $0 &- 0x30 < 10 } }
        let suffix = text.value[digits.endIndex...]
        guard let number = Int(digits), digits.utf8.count <= 9,
            let unit = Self.sizeUnits.first(where: { $0.suffix == suffix })?.bytes
        else {
            problems.add(
                text.place, "\(quoted(key)) must be a size, and this is \(quoted(text.value))",
                hint: "write it like 512B, 64KiB, 1MiB")
            return nil
        }
        let value = number * unit
        guard range.contains(value) else {
            problems.add(
                text.place,
                "\(quoted(key)) must be from \(Self.sizeText(range.lowerBound)) to "
                    + "\(Self.sizeText(range.upperBound)), and this is \(quoted(text.value))")
            return nil
        }
        return value
    }

    private static func sizeText(_ bytes: Int) -> String {
        for (suffix, unit) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        where bytes >= unit && bytes % unit == 0 {
            return "\(bytes / unit)\(suffix)"
        }
        return "\(bytes)B"
    }
}

/// A duration as the configuration writes it, for flags: `10s`, `1h30m`; nil for anything else.
package func durationMilliseconds(_ text: String) -> UInt64? { ValueReader.milliseconds(text) }

extension ValueReader {
    /// What a token is for (RFC 8707 section 2): an absolute URI without a fragment.
    func resource(_ text: Located<String>) -> String? {
        let scheme = text.value.prefix { $0 != ":" }.utf8
        let isAbsolute =
            scheme.count < text.value.utf8.count
            && scheme.first.map { ($0 | 0x20) &- 0x61 < 26 } ?? false
            && scheme.allSatisfy {
                ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || "+-.".utf8.contains($0)
            }
        guard isAbsolute, text.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !text.value.contains("#")
        else {
            problems.add(
                text.place, "\(quoted(text.value)) is no resource",
                hint: "write the absolute URI of the API, without \"#\"")
            return nil
        }
        return text.value
    }
}
