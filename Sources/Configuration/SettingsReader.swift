// Reads a whole document into settings. Each part is read for itself; what two parts must agree on is
// checked at the end.

import Routing
import Vocabulary

/// What the defaults depend on.
struct Defaults {
    let stateDirectory: String
    let workers: Int
}

struct SettingsReader {
    let problems: ProblemList
    let paths: PathResolver
    let defaults: Defaults

    static let keys =
        ["listen", "admin"] + RouteReader.sharedKeys + [
            "routes", "credentials", "allowed_hosts", "allowed_origins", "local_secret",
            "require_header", "timeouts", "limits", "shutdown", "reload", "log", "forward_proxy",
            "ca_file",
            "state_dir", "store", "workers",
        ]
    static let later = [
        "tls": "write it for a listener: listen: [{ address: …, tls: { certificate: …, key: … } }]",
        "path": "write routes: [{ path: …, upstream: …, credential: … }]",
        "host": "write routes: [{ host: …, upstream: …, credential: … }]",
    ]

    /// What stands too far to the left.
    private static let hints = Dictionary(
        uniqueKeysWithValues: (CredentialReader.keys + [PresetExpansion.key]).map {
            ($0, "it belongs to a credential: indent it under \"credential\"")
        } + [("metrics", "they are at /metrics of the page that admin: 127.0.0.1:8081 opens")])

    /// The name of the credential of the short form.
    static let defaultCredential = "default"

    /// - Parameter listenFlags: addresses of the command line, which replace the file's.
    func settings(
        _ root: YAMLNode, file: String?, listenFlags: [Located<String>]
    ) throws(ConfigurationError) -> Settings {
        guard
            let mapping = MappingReader(
                root, "the configuration", keys: Self.keys, later: Self.later, hints: Self.hints,
                problems: problems)
        else { throw ConfigurationError(problems.all) }
        let listen = listen(mapping, listenFlags)
        let (admin, adminListeners) = AdminReader(
            listeners: ListenerReader(problems: problems, paths: paths)
        ).settings(mapping.node("admin"))
        var access = AccessReader(mapping: mapping, problems: problems, paths: paths).settings()
        var credentials = credentials(mapping)
        let routes = routes(mapping, &credentials)
        access.allowedHosts += routes.compactMap { $0.spec.host.flatMap { HostAndPort($0) } }

        credentials = SettingsChecks(problems: problems, credentials: credentials)
            .discovered(routes)
        let checks = SettingsChecks(problems: problems, credentials: credentials)
        checks.checkListeners(listen + adminListeners, hasSecret: mapping.has("local_secret"))
        checks.checkExchanges()
        checks.checkLoops(routes, (listen + adminListeners).compactMap(\.value.address))
        let caFile = mapping.name("ca_file").map { paths.resolve($0) }
        let isByFlag = !listenFlags.isEmpty
        // Flags say where to listen; what routes call the file's listeners must still be right.
        let named = isByFlag ? fileListeners(mapping) : listen.map(\.value)
        let specs = checks.resolved(routes, caFile: caFile, listen: named, isOneForAll: isByFlag)
        let tuning = TuningReader(mapping: mapping, problems: problems, paths: paths)
        let (timeouts, limits) = (tuning.timeouts(), tuning.limits())
        let (shutdown, log) = (tuning.shutdown(), tuning.log())
        let reload = mapping.choice("reload", ReloadPolicy.allCases.map { ($0.rawValue, $0) })
        let exports = ExportReader(problems: problems).exports(of: routes)
        let forwardProxy = tuning.forwardProxy()
        let stateDirectory = mapping.name("state_dir").map { paths.resolve($0) }
        let store = StoreReader(mapping: mapping, problems: problems, paths: paths).settings()
        let workers = mapping.integer("workers", in: 1...64)
        let table = checks.table(
            specs, places: routes.map(\.places), consumedFields: access.consumedFields,
            listeners: listen.count,
            areSeparate: isByFlag && routes.contains { $0.listeners != nil })
        try problems.check()
        guard let table else { preconditionFailure("a table that failed left a problem") }
        return Settings(
            file: file, listen: listen.map(\.value), admin: admin, routeSpecs: specs, routes: table,
            credentials: credentials.map(\.value), access: access, timeouts: timeouts,
            limits: limits, shutdown: shutdown, reload: reload ?? .watch, exports: exports,
            log: log, forwardProxy: forwardProxy,
            caFile: caFile, stateDirectory: stateDirectory ?? defaults.stateDirectory,
            store: store, workers: workers ?? defaults.workers)
    }

    /// What `listen` says where flags count instead: what is wrong there stops nobody.
    private func fileListeners(_ mapping: MappingReader) -> [ListenerSettings] {
        guard let node = mapping.node("listen") else { return [] }
        let unread = ProblemList()
        let reader = ListenerReader(
            problems: unread, paths: PathResolver(paths.baseDirectory, paths.home, unread))
        guard case .sequence(let items) = node.content else {
            return reader.listeners(node).map(\.value)
        }
        return items.flatMap { reader.listeners($0) }.map(\.value)
    }

    private func listen(
        _ mapping: MappingReader, _ flags: [Located<String>]
    ) -> [Located<ListenerSettings>] {
        let reader = ListenerReader(problems: problems, paths: paths)
        if !flags.isEmpty { return flags.flatMap { reader.listeners($0) } }
        guard let node = mapping.node("listen") else {
            return ListenAddress.standard.map {
                Located(value: ListenerSettings($0), place: mapping.place)
            }
        }
        guard case .sequence(let items) = node.content else { return reader.listeners(node) }
        if items.isEmpty {
            problems.add(mapping.place(of: "listen"), "there is no address to listen on")
        }
        return items.flatMap { reader.listeners($0) }
    }

    // MARK: Credentials

    private func credentials(_ mapping: MappingReader) -> [Located<CredentialSettings>] {
        guard let node = mapping.node("credentials") else { return [] }
        guard case .mapping(let entries) = node.content else {
            problems.add(
                node.place, "\"credentials\" must be a mapping of names, and this is \(node.kind)",
                hint: "write credentials: { name: { issuer: …, client_id: … } }")
            return []
        }
        return entries.compactMap { entry in
            guard let id = CredentialID(entry.key), entry.key != "none" else {
                problems.add(
                    entry.place, "\(quoted(entry.key)) cannot be the name of a credential",
                    hint: entry.key == "none"
                        ? "\"none\" stands for no credential"
                        : "use lower-case letters, digits, - and _, up to 64 of them")
                return nil
            }
            return credential(entry.value, id, entry.place)
        }
    }

    /// A credential that has errors still counts as named, so that one mistake is one message.
    private func credential(
        _ node: YAMLNode, _ id: CredentialID, _ place: Place
    ) -> Located<CredentialSettings>? {
        let reader = CredentialReader(problems: problems, paths: paths)
        let read = reader.credential(node, named: id)
        let stand = CredentialSettings(id: id, kind: .command([], lifetimeSeconds: nil))
        return Located(value: read ?? stand, place: place)
    }

    // MARK: Routes

    private func routes(
        _ mapping: MappingReader, _ credentials: inout [Located<CredentialSettings>]
    ) -> [ReadRoute] {
        let short = RouteReader.sharedKeys.filter(mapping.has)
        let reader = RouteReader(problems: problems, paths: paths)
        if let node = mapping.node("routes") {
            for key in short {
                problems.add(
                    mapping.place(of: key), "the key \(quoted(key)) belongs to a route here",
                    hint: "move it under \"routes\", or leave \"routes\" out")
            }
            guard case .sequence(let items) = node.content, !items.isEmpty else {
                problems.add(
                    node.place, "\"routes\" must be a list of routes",
                    hint: "write routes: [{ path: /api, upstream: …, credential: … }]")
                return []
            }
            return items.compactMap { reader.route($0) }
        }
        guard !short.isEmpty else {
            if !mapping.has("routes"), !mapping.isMisspelt(["routes", "upstream", "credential"]) {
                problems.add(
                    mapping.place, "there is nothing to forward to",
                    hint: "write upstream: https://api.example.com and a credential")
            }
            return []
        }
        let name = shortCredential(mapping, &credentials)
        return reader.route(mapping, credential: name).map { [$0] } ?? []
    }

    /// The short form has its credential in place; it may name one as well.
    private func shortCredential(
        _ mapping: MappingReader, _ credentials: inout [Located<CredentialSettings>]
    ) -> Located<String>? {
        guard mapping.has("credential") else {
            mapping.missing(
                "credential",
                hint: "write credential: { issuer: …, client_id: … }, or credential: none")
            return nil
        }
        guard let node = mapping.node("credential") else { return nil }
        guard case .mapping = node.content else {
            return ValueReader(problems).text(node, "credential")
        }
        guard let id = CredentialID(Self.defaultCredential) else {
            preconditionFailure("it is a name")
        }
        if credentials.contains(where: { $0.value.id == id }) {
            problems.add(
                mapping.place(of: "credential"),
                "this credential would be named \"default\", and there is one of that name",
                hint: "write credential: default, or give the other another name")
            return nil
        }
        if let read = credential(node, id, mapping.place(of: "credential")) {
            credentials.append(read)
        }
        return Located(value: id.name, place: node.place)
    }
}
