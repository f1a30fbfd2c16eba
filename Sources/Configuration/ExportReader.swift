// Reads what a route gives to the program of `proxy run`: the names of variables, and nothing of their
// values, which are known only once there is a listener.

import Vocabulary

/// Variables that `proxy run` sets for a route.
package struct RouteExport: Hashable, Sendable {
    /// The route's place in `Settings.routeSpecs`.
    package var route: Int
    /// Get the route's base URL.
    package var urls: [String]
    /// Get the secret of the run, which callers send as their API key.
    package var keys: [String]

    package init(route: Int, urls: [String], keys: [String]) {
        self.route = route
        self.urls = urls
        self.keys = keys
    }

    /// Names that every shell and program can use (XBD 8.1 of POSIX).
    package static func isVariable(_ name: String) -> Bool {
        guard let first = name.utf8.first, first &- 0x30 >= 10 else { return false }
        return name.utf8.allSatisfy { byte in
            byte == 0x5F || byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26
        }
    }
}

struct ExportReader {
    let problems: ProblemList

    static let keys = ["url", "key"]

    /// `env` of a route: the name for its URL, or a mapping of `url` and `key`.
    func export(_ mapping: MappingReader) -> (urls: [Located<String>], keys: [Located<String>])? {
        guard let node = mapping.node("env") else { return nil }
        guard case .mapping = node.content else {
            return (valid(mapping.texts("env") ?? []), [])
        }
        guard
            let inner = MappingReader(
                node, quoted("env"), keys: Self.keys, problems: problems)
        else { return nil }
        if inner.present.isEmpty {
            problems.add(
                node.place, "\"env\" names no variable",
                hint: "write env: { url: API_BASE_URL, key: API_KEY }")
        }
        return (valid(inner.texts("url") ?? []), valid(inner.texts("key") ?? []))
    }

    /// One variable cannot hold the URLs of two routes, nor a URL and the secret.
    func exports(of routes: [ReadRoute]) -> [RouteExport] {
        var urls: Set<String> = []
        let keys = Set(routes.flatMap { $0.export?.keys.map(\.value) ?? [] })
        return routes.enumerated().compactMap { number, route in
            guard let export = route.export else { return nil }
            for name in export.urls
            where !urls.insert(name.value).inserted || keys.contains(name.value) {
                problems.add(
                    name.place, "the variable \(quoted(name.value)) would have two values",
                    hint: "give each route a variable of its own")
            }
            return RouteExport(
                route: number, urls: export.urls.map(\.value), keys: export.keys.map(\.value))
        }
    }

    private func valid(_ names: [Located<String>]) -> [Located<String>] {
        names.filter { name in
            let isName = RouteExport.isVariable(name.value)
            if !isName {
                problems.add(
                    name.place, "\(quoted(name.value)) is no name of a variable",
                    hint: "use letters, digits and _, such as GITHUB_API_URL")
            }
            return isName
        }
    }
}
