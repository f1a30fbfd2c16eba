// The tables of features in README.md name tests: each of them must be there.

import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.enabled(if: Repository.file("README.md") != nil)) struct `Tables of features` {
    private static let rows = (Repository.file("README.md")?.lines ?? []).filter {
        $0.contains(/^\| F\d\d \|/)
    }

    @Test func `have every feature of the auth core once`() {
        let numbers = Self.rows.compactMap { Int($0.dropFirst(3).prefix(2)) }
        #expect(numbers == Array(1...95))
    }

    @Test func `name tests that are there`() {
        // The C library searches megabytes in no time, which characters are not searched in.
        let sources = Repository.swift.filter { $0.path.hasPrefix("Tests/") }
            .compactMap(\.text).joined()
        var missing: [String] = []
        sources.withCString { sources in
            for row in Self.rows {
                let cell = row.split(separator: "|").last.map(String.init) ?? ""
                let name = cell.split(separator: "`").dropFirst().first.map(String.init) ?? ""
                if name.isEmpty || strstr(sources, "`\(name)`(") == nil { missing.append(name) }
            }
        }
        #expect(missing == [])
    }
}
