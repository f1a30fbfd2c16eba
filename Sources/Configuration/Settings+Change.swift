// From one configuration of a running proxy to the next: read again from the same place, compared, and
// compiled for credentials that keep the slots they have. It changes nothing.

package import Routing
package import Vocabulary

extension Settings {
    /// Reads the file that these settings came from once more, with the same flags; nil where flags said
    /// everything.
    package func again(
        _ request: SettingsRequest, in surroundings: Surroundings
    ) throws(ConfigurationError) -> Settings? {
        guard let file else { return nil }
        return try Self.read(file, request, in: surroundings)
    }

    /// The keys that differ and that a running proxy cannot change, as they are written.
    package func fixedKeys(changedIn other: Settings) -> [String] {
        var keys: [String] = []
        func compare(_ key: String, _ isSame: Bool) { if !isSame { keys.append(key) } }
        compare("admin", admin == other.admin)
        compare("workers", workers == other.workers)
        compare("limits", limits == other.limits)
        compare("state_dir", stateDirectory == other.stateDirectory)
        compare("store", store == other.store)
        compare("forward_proxy", forwardProxy == other.forwardProxy)
        compare("ca_file", caFile == other.caFile)
        compare("reload", reload == other.reload)
        compare("log.format", log.format == other.log.format)
        // What a service manager has opened is handed over at the start alone, and the rights of a
        // socket file are made with it.
        let inherited = listen.filter(\.isInherited).map(\.place)
        compare("listen", inherited == other.listen.filter(\.isInherited).map(\.place))
        for listener in listen {
            guard case .socketFile(let path) = listener.place,
                let next = other.listen.first(where: { $0.place == listener.place })
            else { continue }
            var (access, wanted) = (listener.access, next.access)
            (access.users, wanted.users) = ([], [])
            compare("listen: unix:\(path)", access == wanted)
        }
        return keys
    }

    /// The routes, compiled for credentials that have these slots, in the order of `credentials`.
    package func table(slots: [CredentialSlot]) throws(RouteError) -> RouteTable {
        let specs = routeSpecs.map { spec in
            var spec = spec
            if let slot = spec.credential?.slot { spec.credential?.slot = slots[slot.index] }
            return spec
        }
        return try RouteTable(
            specs, consumedFields: access.consumedFields, listeners: max(listen.count, 1))
    }

    /// Demands a secret of callers, in place of the configured one but in the same field.
    package mutating func demand(_ secret: SecretSource) throws(RouteError) {
        access.localSecret = LocalSecretSettings(
            source: secret, field: access.localSecret?.field)
        routes = try table(slots: credentials.indices.map { CredentialSlot($0) })
    }
}

extension ListenerSettings {
    fileprivate var isInherited: Bool {
        if case .inherited = place { true } else { false }
    }
}

/// When a running proxy reads its configuration again.
package enum ReloadPolicy: String, CaseIterable, Sendable {
    /// When the file changes, and at SIGHUP.
    case watch
    /// At SIGHUP.
    case signal
    /// Never.
    case off
}
