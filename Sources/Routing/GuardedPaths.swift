// The paths of a route that another one has rules for. `/` and `/v1/payments` may lead to one API, and only
// the longer has rules: a path such as `/v1//payments` goes by the shorter route, although the API would take it
// for one of the longer's. The shorter refuses what the API could so take.

import Bytes

struct GuardedPaths: Sendable {
    /// As a generous server would read them, in lower case, "/a/b"; beneath the route's own prefix.
    private let places: [[UInt8]]

    private init?(_ places: [[UInt8]]) {
        if places.isEmpty { return nil }
        self.places = places
    }

    private struct Place: Hashable {
        let host: String?
        let prefix: Substring
    }

    /// Those of each route; nil for one that no rules could be walked around by, which is nearly every one.
    static func all(of specs: [RouteSpec]) -> [GuardedPaths?] {
        var found: [[[UInt8]]] = Array(repeating: [], count: specs.count)
        let isJudged = { (spec: RouteSpec) in !spec.allow.isEmpty || !spec.deny.isEmpty }
        guard specs.contains(where: isJudged) else { return found.map { GuardedPaths($0) } }
        var numbers: [Place: [Int]] = [:]
        for (number, spec) in specs.enumerated() {
            let prefix = Substring(PathPrefix.trimmed(spec.path))
            numbers[Place(host: spec.host, prefix: prefix), default: []].append(number)
        }
        for spec in specs where isJudged(spec) {
            let prefix = PathPrefix.trimmed(spec.path)
            var outer = Substring(prefix)
            while let slash = outer.lastIndex(of: "/") {
                outer = outer[..<slash]
                let rest = prefix[slash...]
                for number in numbers[Place(host: spec.host, prefix: outer)] ?? []
                where leads(specs[number], rest, to: spec) {
                    found[number].append(place(rest))
                }
            }
        }
        return found.map { GuardedPaths($0) }
    }

    /// Whether a shorter route leads to the places of a longer one, at the same upstream.
    private static func leads(
        _ shorter: RouteSpec, _ rest: Substring, to longer: RouteSpec
    ) -> Bool {
        longer.upstream.origin == shorter.upstream.origin && sharesListener(longer, shorter)
            && longer.upstream.basePath == shorter.upstream.basePath + rest
    }

    private static func place(_ path: Substring) -> [UInt8] {
        // A configured path has no dot segments.
        Array(path.utf8).withUnsafeBytes {
            read($0) { Array($0 ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
        }
    }

    private static func sharesListener(_ one: RouteSpec, _ other: RouteSpec) -> Bool {
        guard let ones = one.listeners, let others = other.listeners else { return true }
        return !ones.isDisjoint(with: others)
    }

    /// Whether some server could take a path for one of the places. Of a path with dot segments it could be
    /// any.
    ///
    /// - Parameter path: what the route's prefix leaves, as it came.
    func mayHold(_ path: UnsafeRawBufferPointer) -> Bool {
        Self.read(path) { path in
            guard let path else { return true }
            return places.contains { place in
                path.starts(with: place)
                    && (path.count == place.count || path[place.count] == ASCII.slash)
            }
        }
    }

    /// Lends a path decoded, in lower case, without parameters and empty segments; nil where it has dot
    /// segments.
    private static func read<Result>(
        _ path: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer?) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: path.count + 1, alignment: 1) { text in
            let end = GenerousPath.decode(path, into: text)
            // What is written never overtakes what is read, but for the first slash.
            var count = 0
            var start = 0
            while start < end {
                if GenerousPath.isSeparator(text[start]) {
                    start += 1
                    continue
                }
                let segment = text[start..<end]
                let segmentEnd = segment.firstIndex(where: GenerousPath.isSeparator) ?? end
                let nameEnd = segment.firstIndex(where: GenerousPath.endsName) ?? segmentEnd
                let name = start..<min(nameEnd, segmentEnd)
                if name.count <= 2, !name.isEmpty, text[name].allSatisfy({ $0 == ASCII.dot }) {
                    return body(nil)
                }
                start = segmentEnd
                if name.isEmpty { continue }
                text[count] = ASCII.slash
                count += 1
                for index in name {
                    text[count] = ASCII.lowercased(text[index])
                    count += 1
                }
            }
            return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[..<count]))
        }
    }
}
