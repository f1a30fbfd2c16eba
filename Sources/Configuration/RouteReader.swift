// Reads routes. What a route means is Routing's to judge; here its values get their places.

import Routing
import Vocabulary

/// A route as read, with the places that later checks speak of.
struct ReadRoute {
    var spec: RouteSpec
    /// The name of its credential; nil for none.
    var credential: Located<String>?
    var clientField: ClientFieldPolicy?
    /// The names of the listeners that serve it; nil for all.
    var listeners: [Located<String>]?
    /// Variables for the program of `proxy run`.
    var export: (urls: [Located<String>], keys: [Located<String>])?
    var places: Places

    struct Places {
        var route: Place
        var path: Place
        var host: Place
        var upstream: Place
        var setFields: Place
        var removedFields: Place
        var hostField: Place
        var setResponseFields: Place
        var removedResponseFields: Place
        var clientField: Place
    }
}

struct RouteReader {
    let problems: ProblemList
    let paths: PathResolver

    /// Keys that the short form has as well.
    static let sharedKeys =
        [
            "upstream", "credential", "client_authorization", "set_headers", "remove_headers",
            "host_header", "rewrite_location", "allow_plain_http", "http2", "refusals", "upgrades",
            "allow", "deny", "set_response_headers", "remove_response_headers", "forwarded",
            "rewrite_cookies", "env",
        ] + UpstreamReader.sharedKeys
    static let keys =
        ["path", "host", "listeners"] + sharedKeys + ["ca_file"] + UpstreamReader.keys

    func route(_ node: YAMLNode) -> ReadRoute? {
        guard
            let mapping = MappingReader(
                node, "route", keys: Self.keys, problems: problems)
        else { return nil }
        return route(mapping, credential: credentialName(mapping))
    }

    /// A route of the long form names its credential.
    private func credentialName(_ mapping: MappingReader) -> Located<String>? {
        guard mapping.has("credential") else {
            mapping.missing(
                "credential",
                hint: "name one of the credentials, or write credential: none to add nothing")
            return nil
        }
        guard let node = mapping.node("credential") else { return nil }
        if case .mapping = node.content {
            problems.add(
                node.place, "a route names its credential",
                hint: "put the mapping under \"credentials\" and write its name here")
            return nil
        }
        return ValueReader(problems).text(node, "credential")
    }

    /// The rest of a route, in either form.
    func route(_ mapping: MappingReader, credential: Located<String>?) -> ReadRoute? {
        guard let upstream = upstream(mapping) else { return nil }
        var spec = RouteSpec(upstream: upstream)
        var listeners: [Located<String>]?
        if RouteReader.keys.allSatisfy(mapping.declares) {
            spec.path = path(mapping)
            spec.host = host(mapping)
            listeners = mapping.texts("listeners")
            spec.caFile = mapping.name("ca_file").map { paths.resolve($0) }
        }
        UpstreamReader(problems: problems, paths: paths).read(mapping, into: &spec)
        spec.hostField = mapping.name("host_header")?.value
        spec.setFields = (mapping.pairs("set_headers") ?? []).map { ($0.name, $0.value.value) }
        spec.removedFields = (mapping.texts("remove_headers") ?? []).map(\.value)
        if let upgrades = mapping.texts("upgrades") { spec.upgrades = self.upgrades(upgrades) }
        spec.allow = rules(mapping, "allow")
        spec.deny = rules(mapping, "deny")
        spec.setResponseFields = (mapping.pairs("set_response_headers") ?? []).map {
            ($0.name, $0.value.value)
        }
        spec.removedResponseFields = (mapping.texts("remove_response_headers") ?? []).map(\.value)
        spec.callerFields = callerFields(mapping)
        spec.rewritesCookies = mapping.bool("rewrite_cookies") ?? false
        spec.rewritesLocation = mapping.bool("rewrite_location") ?? true
        spec.refusalRules = RefusalRuleReader(problems).rules(mapping)
        spec.http2 =
            mapping.choice(
                "http2", [HTTP2Use.auto, .on, .off].map { ($0.rawValue, $0) }) ?? .auto
        let policy = mapping.choice(
            "client_authorization",
            [ClientFieldPolicy.replace, .keep, .refuse].map { ($0.rawValue, $0) })
        return ReadRoute(
            spec: spec, credential: credential?.value == "none" ? nil : credential,
            clientField: policy, listeners: listeners,
            export: ExportReader(problems: problems).export(mapping),
            places: .init(
                route: mapping.place, path: mapping.place(of: "path"),
                host: mapping.place(of: "host"), upstream: mapping.place(of: "upstream"),
                setFields: mapping.place(of: "set_headers"),
                removedFields: mapping.place(of: "remove_headers"),
                hostField: mapping.place(of: "host_header"),
                setResponseFields: mapping.place(of: "set_response_headers"),
                removedResponseFields: mapping.place(of: "remove_response_headers"),
                clientField: mapping.place(of: "client_authorization")))
    }

    private func upgrades(_ names: [Located<String>]) -> [String] {
        names.compactMap { name in
            guard RouteSpec.isUpgrade(name.value) else {
                problems.add(
                    name.place, "\(quoted(name.value)) is no protocol that can be passed on",
                    hint:
                        "name it as the Upgrade header does, such as websocket; h2c, HTTP and TLS "
                        + "would carry requests past the rules")
                return nil
            }
            return name.value
        }
    }

    /// `allow` and `deny`. An empty list of what is allowed would look like a closed route and be an
    /// open one.
    private func rules(_ mapping: MappingReader, _ key: String) -> [String] {
        guard let texts = mapping.texts(key) else { return [] }
        if texts.isEmpty {
            problems.add(
                mapping.place(of: key), "\(quoted(key)) lists nothing",
                hint: "leave the key out, or leave the route out")
        }
        return texts.compactMap { text in
            guard RouteSpec.isRule(text.value) else {
                problems.add(
                    text.place, "\(quoted(text.value)) is no rule",
                    hint: "write a method and a path, such as \"GET /repos/**\"; * stands for one "
                        + "segment or a part of it, ** at the end for all below, * for every method"
                )
                return nil
            }
            return text.value
        }
    }

    private func callerFields(_ mapping: MappingReader) -> [CallerField] {
        guard let texts = mapping.texts("forwarded") else { return [] }
        return texts.compactMap { text in
            guard let field = CallerField(rawValue: text.value.lowercased()) else {
                problems.add(
                    text.place, "\(quoted(text.value)) is no field that tells of the caller",
                    hint: "possible values: "
                        + CallerField.allCases.map(\.rawValue).joined(separator: ", "))
                return nil
            }
            return field
        }
    }

    private func path(_ mapping: MappingReader) -> String { mapping.text("path")?.value ?? "" }

    private func host(_ mapping: MappingReader) -> String? {
        guard let host = mapping.name("host") else { return nil }
        guard let parts = HostAndPort(host.value), parts.port == nil else {
            problems.add(
                host.place, "\(quoted(host.value)) is no host name",
                hint: "write a name without scheme and port, such as files.localhost")
            return nil
        }
        return parts.host
    }

    private func upstream(_ mapping: MappingReader) -> UpstreamURL? {
        let allowsPlainHTTP = mapping.bool("allow_plain_http") ?? false
        guard let text = mapping.name("upstream") else {
            if !mapping.has("upstream") {
                mapping.missing(
                    "upstream", hint: "it is the URL of the API, https://api.example.com")
            }
            return nil
        }
        guard !namesUser(text.value) else {
            problems.add(
                text.place, "the URL of an upstream names a user",
                hint: "a credential belongs under \"credential\"")
            return nil
        }
        do {
            let url = try UpstreamURL(text.value)
            if url.origin.scheme == .http, !url.origin.isLoopback, !allowsPlainHTTP {
                problems.add(
                    text.place,
                    "\(quoted(text.value)) would send the credential over the network in the clear",
                    hint: "write https://, or allow_plain_http: true where that is wanted")
                return nil
            }
            return url
        } catch {
            problems.add(text.place, error.message(text.value), hint: error.hint(text.value))
            return nil
        }
    }
}

extension UpstreamURL.URLError {
    func message(_ text: String) -> String {
        switch self {
        case .schemeMissing, .schemeUnsupported: "\(quoted(text)) is no http:// or https:// URL"
        // The text may hold a password.
        case .hasUser: "the URL of an upstream names a user"
        case .hasQuery: "the URL of an upstream has a query: \(quoted(text))"
        case .hasFragment: "the URL of an upstream has a fragment: \(quoted(text))"
        case .hostInvalid(let host): "\(quoted(host)) is no host"
        case .portInvalid(let port): "\(quoted(port)) is no port"
        case .pathInvalid(let path): "\(quoted(path)) is no path that can stand before others"
        }
    }

    func hint(_ text: String) -> String? {
        switch self {
        case .schemeMissing: "write https://\(text)"
        case .schemeUnsupported: "write https://, or http:// for this machine"
        case .hasUser: "a credential belongs under \"credential\""
        case .hasQuery, .hasFragment: "end it with the path"
        case .hostInvalid(let host):
            host.utf8.contains { $0 >= 0x80 }
                ? "write the name in its ASCII form, which begins with xn--"
                : host.hasSuffix(".") ? "leave out the dot at the end" : nil
        case .portInvalid: "a port is a number from 1 to 65535"
        case .pathInvalid: "leave out dot segments, and encode spaces and letters with accents"
        }
    }
}
