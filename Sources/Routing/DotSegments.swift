// Dot segments of a path, in every spelling that some server resolves: ".", "..", "%2e", split by
// "/", "%2f", "\" or "%5c". It resolves nothing; it says whether a path could leave the directory
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
        scan(path) { dots, _ in dots > 0 }
    }

    /// Whether resolving the path (RFC 3986 section 5.2.4) would at any point take it above its
    /// beginning. Empty segments count as nothing, since some servers merge slashes first.
    static func climb(in path: UnsafeRawBufferPointer) -> Bool {
        // Without a dot, which is nearly every path, there is nothing to scan.
        guard let base = path.baseAddress,
            memchr(base, Int32(ASCII.dot), path.count) != nil
                || memchr(base, Int32(ASCII.percent), path.count) != nil
        else { return false }
        return scan(path) { _, depth in depth < 0 }
    }

    private enum Unit { case slash, dot, other }

    /// Reports each segment: the dots that make up the whole of it (0, 1 or 2) and the depth
    /// reached. Ends with true as soon as `isFound` says so.
    @inline(__always)
    private static func scan(
        _ path: UnsafeRawBufferPointer, until isFound: (_ dots: Int, _ depth: Int) -> Bool
    ) -> Bool {
        var depth = 0
        var dots = 0
        var others = 0
        var index = 0
        while true {
            let unit = index < path.count ? unit(path, at: &index) : .slash
            switch unit {
            case .dot: dots += 1
            case .other: others += 1
            case .slash:
                let whole = others == 0 && dots <= 2 ? dots : 0
                if whole == 2 {
                    depth -= 1
                } else if whole == 0 && dots + others > 0 {
                    depth += 1
                }
                if isFound(whole, depth) { return true }
                if index >= path.count { return false }
                dots = 0
                others = 0
            }
        }
    }

    /// Reads one octet, or one that is percent-encoded, and moves past it.
    @inline(__always)
    private static func unit(_ path: UnsafeRawBufferPointer, at index: inout Int) -> Unit {
        let byte = path[index]
        if byte == ASCII.percent, index + 2 < path.count {
            let high = path[index + 1]
            let low = ASCII.lowercased(path[index + 2])
            let encoded: Unit? =
                switch (high, low) {
                case (0x32, 0x65): .dot
                case (0x32, 0x66), (0x35, 0x63): .slash
                default: nil
                }
            if let encoded {
                index += 3
                return encoded
            }
        }
        index += 1
        return byte == ASCII.slash || byte == 0x5C ? .slash : byte == ASCII.dot ? .dot : .other
    }
}
