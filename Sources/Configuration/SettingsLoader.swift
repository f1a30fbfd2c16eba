// Finds the configuration, or makes it from flags, and reads it. Both ways go through the same checks.
// Nothing is written, and nothing but the one file is read.

import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the command line says of the configuration.
package struct SettingsRequest: Sendable {
    /// `--config`.
    package var configFile: String?
    /// `--listen`, each; they replace what a file says.
    package var listen: [String] = []
    /// `--upstream`; with it no file is read.
    package var upstream: String?
    package var issuer: String?
    package var clientID: String?
    package var scopes: [String] = []

    package init(configFile: String? = nil) { self.configFile = configFile }
}

/// What surrounds the process.
package struct Surroundings: Sendable {
    package var environment: [String: String]
    /// The working directory, absolute.
    package var directory: String
    package var coreCount: Int
    /// Where the machine's own configuration would be.
    package var systemFile = "/etc/credential-proxy/config.yaml"

    package init(environment: [String: String], directory: String, coreCount: Int) {
        self.environment = environment
        self.directory = directory
        self.coreCount = coreCount
    }

    /// An absolute path of the environment; a relative one is not to be used (XDG Base Directory
    /// specification).
    private func path(_ name: String) -> String? {
        environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    var home: String? { path("HOME") }

    /// A path of the command line as the process would open it.
    fileprivate func absolute(_ path: String) -> String {
        PathResolver.absolute(path, in: directory)
    }

    /// In the order in which they are tried; an explicit one must be there.
    fileprivate var candidates: [(path: String, isExplicit: Bool, place: Place)] {
        func candidate(_ path: String) -> (String, Bool, Place) {
            (path, false, Place(file: path, spot: .file))
        }
        if let chosen = environment["PROXY_CONFIG"], !chosen.isEmpty {
            return [(chosen, true, Place(file: nil, spot: .variable("PROXY_CONFIG")))]
        }
        var candidates = [candidate("\(directory)/proxy.yaml")]
        if let folder = path("XDG_CONFIG_HOME") ?? home.map({ "\($0)/.config" }) {
            candidates.append(candidate("\(folder)/credential-proxy/config.yaml"))
        }
        candidates.append(candidate(systemFile))
        return candidates
    }

    fileprivate var defaults: Defaults {
        let state = path("XDG_STATE_HOME") ?? home.map { "\($0 == "/" ? "" : $0)/.local/state" }
        return Defaults(
            stateDirectory: (state ?? "/var/lib") + "/credential-proxy",
            workers: min(max(coreCount, 1), 4))
    }
}

extension Settings {
    /// Reads the configuration that the command line and the surroundings name.
    package static func load(
        _ request: SettingsRequest, in surroundings: Surroundings
    ) throws(ConfigurationError) -> Settings {
        if request.upstream != nil { return try fromFlags(request, surroundings) }
        for (name, value) in [
            ("--issuer", request.issuer), ("--client-id", request.clientID),
            ("--scope", request.scopes.first),
        ] where value != nil {
            throw ConfigurationError([
                ConfigurationProblem(
                    .flag(name), "it means nothing without --upstream",
                    hint: "add --upstream URL, or write the credential into a file")
            ])
        }
        let (path, bytes) = try find(request, surroundings)
        return try parse(
            bytes, file: path, in: surroundings,
            listenFlags: request.listen.map { Located(value: $0, place: .flag("--listen")) })
    }

    /// Reads one file and no other.
    static func read(
        _ file: String, _ request: SettingsRequest, in surroundings: Surroundings
    ) throws(ConfigurationError) -> Settings {
        switch ConfigurationFile.contents(of: surroundings.absolute(file)) {
        case .success(let bytes):
            return try parse(
                bytes, file: file, in: surroundings,
                listenFlags: request.listen.map { Located(value: $0, place: .flag("--listen")) })
        case .failure(let failure):
            throw ConfigurationError([
                ConfigurationProblem(
                    Place(file: file, spot: .file), "it cannot be read: \(failure.reason)")
            ])
        }
    }

    /// Reads the text of a file.
    package static func parse(
        _ bytes: [UInt8], file: String, in surroundings: Surroundings
    ) throws(ConfigurationError) -> Settings {
        try parse(bytes, file: file, in: surroundings, listenFlags: [])
    }

    private static func parse(
        _ bytes: [UInt8], file: String, in surroundings: Surroundings,
        listenFlags: [Located<String>]
    ) throws(ConfigurationError) -> Settings {
        let root: YAMLNode?
        do {
            root = try YAMLReader.read(bytes, file: file)
        } catch {
            throw ConfigurationError([error])
        }
        guard let root else {
            throw ConfigurationError([
                ConfigurationProblem(
                    Place(file: file, spot: .file), "the file is empty",
                    hint: "write upstream: https://api.example.com and a credential")
            ])
        }
        let absolute = surroundings.absolute(file)
        let folder = absolute.lastIndex(of: "/").map { String(absolute[..<$0]) } ?? ""
        return try reader(surroundings, baseDirectory: folder.isEmpty ? "/" : folder)
            .settings(root, file: file, listenFlags: listenFlags)
    }

    private static func reader(
        _ surroundings: Surroundings, baseDirectory: String
    ) -> SettingsReader {
        let problems = ProblemList()
        return SettingsReader(
            problems: problems, paths: PathResolver(baseDirectory, surroundings.home, problems),
            defaults: surroundings.defaults)
    }

    // MARK: Files

    private static func find(
        _ request: SettingsRequest, _ surroundings: Surroundings
    ) throws(ConfigurationError) -> (path: String, bytes: [UInt8]) {
        let candidates =
            request.configFile.map { [(path: $0, isExplicit: true, place: Place.flag("--config"))] }
            ?? surroundings.candidates
        for candidate in candidates {
            switch ConfigurationFile.contents(of: surroundings.absolute(candidate.path)) {
            case .success(let bytes): return (candidate.path, bytes)
            case .failure(let failure):
                if failure.isMissing && !candidate.isExplicit { continue }
                throw ConfigurationError([
                    ConfigurationProblem(
                        candidate.place, "cannot read \(quoted(candidate.path)): \(failure.reason)")
                ])
            }
        }
        throw ConfigurationError([
            ConfigurationProblem(
                Place(file: nil, spot: .file),
                "no configuration in " + candidates.map(\.path).joined(separator: ", "),
                hint: "write one there, or name one with --config FILE")
        ])
    }

    // MARK: Flags

    /// The short form, made of flags.
    private static func fromFlags(
        _ request: SettingsRequest, _ surroundings: Surroundings
    ) throws(ConfigurationError) -> Settings {
        if request.configFile != nil {
            throw ConfigurationError([
                ConfigurationProblem(
                    .flag("--upstream"), "it cannot be given together with --config",
                    hint: "a file says all of it, or flags do")
            ])
        }
        for (name, value) in [("--issuer", request.issuer), ("--client-id", request.clientID)]
        where value == nil {
            throw ConfigurationError([
                ConfigurationProblem(
                    .flag("--upstream"), "it needs \(name) as well",
                    hint: "for credentials that are no OAuth client write a file")
            ])
        }
        func entry(_ key: String, _ flag: String, _ value: YAMLNode) -> YAMLNode.Entry {
            .init(key: key, place: .flag(flag), value: value)
        }
        func text(_ value: String?, _ flag: String) -> YAMLNode {
            .text(value ?? "", .flag(flag))
        }
        var credential = [
            entry("issuer", "--issuer", text(request.issuer, "--issuer")),
            entry("client_id", "--client-id", text(request.clientID, "--client-id")),
        ]
        if !request.scopes.isEmpty {
            let scopes = request.scopes.map { text($0, "--scope") }
            credential.append(
                entry("scopes", "--scope", YAMLNode(.flag("--scope"), .sequence(scopes))))
        }
        let root = YAMLNode(
            .flag("--upstream"),
            .mapping([
                entry("upstream", "--upstream", text(request.upstream, "--upstream")),
                entry(
                    "credential", "--issuer", YAMLNode(.flag("--issuer"), .mapping(credential))),
            ]))
        return try reader(surroundings, baseDirectory: surroundings.directory)
            .settings(
                root, file: nil,
                listenFlags: request.listen.map { Located(value: $0, place: .flag("--listen")) })
    }
}
