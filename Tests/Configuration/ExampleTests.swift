@testable import Configuration
import Routing
import Testing
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct `Examples in config` {
    private static let folder =
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/config"

    private func load(_ name: String) throws -> Settings {
        try Settings.load(
            SettingsRequest(configFile: "\(Self.folder)/\(name)"), in: surroundings)
    }

    @Test(arguments: [
        "short.yaml", "short.json", "several.yaml", "sidecar.yaml", "helper.yaml", "agent.yaml",
        "reference.yaml", "mcp.yaml",
    ])
    func `are valid`(_ name: String) throws {
        #expect(throws: Never.self) { try load(name) }
    }

    @Test func `are all tried here`() throws {
        let folder = try #require(opendir(Self.folder))
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".yaml") || name.hasSuffix(".json") { count += 1 }
        }
        #expect(count == 8)
    }

    @Test func `agree in YAML and JSON`() throws {
        let (yaml, json) = try (load("short.yaml"), load("short.json"))
        #expect(try yaml.oauth.clientID == json.oauth.clientID)
        #expect(try yaml.oauth.scopes == json.oauth.scopes)
        #expect(yaml.routes.upstreams == json.routes.upstreams)
    }

    @Test func `do what their comments say`() throws {
        let several = try load("several.yaml")
        #expect(several.credentials.map(\.id.name) == ["github", "google"])
        #expect(several.access.allowedHosts.map(\.host) == ["files.localhost"])
        #expect(several.routes.routes.map(\.credential?.index) == [0, 1, nil])
        let sidecar = try load("sidecar.yaml")
        #expect(sidecar.shutdown.keepsAccepting)
        #expect(sidecar.log.format == .json)
        let agent = try load("agent.yaml")
        #expect(!agent.credentials[0].isExportable)
        #expect(agent.access.localSecret?.source == .file(path: "\(Self.folder)/agent.key"))
    }

    @Test func `show every key there is`() throws {
        let text = try String(
            decoding: ConfigurationFile.contents(of: "\(Self.folder)/reference.yaml").get(),
            as: UTF8.self)
        let groups = [
            SettingsReader.keys, RouteReader.keys, CredentialReader.keys, SecretReader.keys,
            TuningReader.timeoutKeys, TuningReader.limitKeys, TuningReader.shutdownKeys,
            TuningReader.logKeys, TuningReader.forwardProxyKeys,
            GrantReader.serviceAccountKeys, GrantReader.assertionKeys, GrantReader.exchangeKeys,
            GrantReader.partyKeys,
        ]
        for key in groups.joined() {
            #expect(text.contains("\(key):"), "\(key) is not in reference.yaml")
        }
    }

    @Test func `show the defaults as they are`() throws {
        let reference = try load("reference.yaml")
        let plain = try settings(short())
        #expect(reference.timeouts == plain.timeouts)
        #expect(reference.limits == plain.limits)
        #expect(reference.shutdown == plain.shutdown)
        #expect(reference.log.level == plain.log.level)
        #expect(reference.listen == plain.listen)
        #expect(reference.stateDirectory == plain.stateDirectory)
    }
}
