// Dot segments of a path, in every spelling that some server resolves: ".", "..", "%2e", "%252e", "..;x", split
// by "/", "%2f", "\" or "%5c". It resolves nothing; it says whether a path could leave the directory
// that it begins in.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

enum DotSegments {
    /// Whether any segment is "." or "..".
    static func occur(in path: UnsafeRawBufferPointer) -> Bool {
        read(path) { dots, _ in dots > 0 }
    }

    /// Whether resolving the path (RFC 3986 section 5.2.4) would at any server and at any point take it
    /// above its beginning. Empty segments count as nothing, since some servers merge slashes first.
    static func climb(in path: UnsafeRawBufferPointer) -> Bool {
        read(path) { _, depth in depth < 0 }
    }

    @inline(__always)
    private static func read(
        _ path: UnsafeRawBufferPointer, until isFound: (_ dots: Int, _ depth: Int) -> Bool
    ) -> Bool {
        guard let base = path.baseAddress else { return false }
        if memchr(base, Int32(ASCII.percent), path.count) != nil {
            return withUnsafeTemporaryAllocation(byteCount: path.count, alignment: 1) { text in
                let count = GenerousPath.decode(path, into: text)
                return scan(UnsafeRawBufferPointer(rebasing: text[..<count]), until: isFound)
            }
        }
        // Without a dot, which is nearly every path, there is nothing to scan.
        guard memchr(base, Int32(ASCII.dot), path.count) != nil else { return false }
        return scan(path, until: isFound)
    }

    /// Reports each segment: the dots that make up the whole of its name (0, 1 or 2) and the depth
    /// reached. Ends with true as soon as `isFound` says so.
    ///
    /// What stands between two "/" counts as one level at most, though other separators in it may make
    /// several: there are servers to which they are none.
    private static func scan(
        _ path: UnsafeRawBufferPointer, until isFound: (_ dots: Int, _ depth: Int) -> Bool
    ) -> Bool {
        var depth = 0
        var start = 0
        var hasCounted = false
        while true {
            let rest = path[start...]
            let end = rest.firstIndex(where: GenerousPath.isSeparator) ?? path.count
            let name = path[start..<end].prefix { !GenerousPath.endsName($0) }
            var dots = 0
            if name.count <= 2, name.allSatisfy({ $0 == ASCII.dot }) {
                dots = name.count
                if dots == 2 { depth -= 1 }
            } else if !hasCounted {
                depth += 1
                hasCounted = true
            }
            if isFound(dots, depth) { return true }
            guard end < path.count else { return false }
            if path[end] == ASCII.slash { hasCounted = false }
            start = end + 1
        }
    }
}
