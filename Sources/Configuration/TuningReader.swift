// Reads what most people never set: times, limits, the end, the log, the way out.

struct TuningReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    static let timeoutKeys = [
        "connect", "response_head", "client_head", "client_body", "client_idle", "upstream_idle",
        "upstream_age",
        "tunnel_idle",
    ]
    static let limitKeys = [
        "head", "fields", "replay", "replay_total", "clients", "streams", "parked_requests",
        "idle_upstreams",
    ]
    static let shutdownKeys = ["grace", "keep_accepting"]
    static let logKeys = ["level", "format", "access"]
    static let forwardProxyKeys = ["url", "except"]

    private static let day: UInt64 = 86_400_000

    private func inner(_ key: String, _ keys: [String]) -> MappingReader? {
        mapping.node(key).flatMap {
            MappingReader($0, quoted(key), keys: keys, problems: problems)
        }
    }

    func timeouts() -> TimeoutSettings {
        var timeouts = TimeoutSettings()
        guard let inner = inner("timeouts", Self.timeoutKeys) else { return timeouts }
        func read(_ key: String, _ keyPath: WritableKeyPath<TimeoutSettings, UInt64>) {
            if let value = inner.duration(key, in: 100...Self.day) {
                timeouts[keyPath: keyPath] = value
            }
        }
        read("connect", \.connect)
        read("client_head", \.clientHead)
        read("client_idle", \.clientIdle)
        read("upstream_idle", \.upstreamIdle)
        read("upstream_age", \.upstreamAge)
        for (key, keyPath) in [
            ("response_head", \TimeoutSettings.responseHead), ("client_body", \.clientBody),
        ] {
            guard let text = inner.text(key) else { continue }
            timeouts[keyPath: keyPath] =
                text.value == "none"
                ? nil : ValueReader(problems).duration(text, key, in: 100...Self.day)
        }
        if let text = inner.text("tunnel_idle"), text.value != "none" {
            timeouts.tunnelIdle =
                ValueReader(problems).duration(text, "tunnel_idle", in: 100...(7 * Self.day))
        }
        return timeouts
    }

    func limits() -> LimitSettings {
        var limits = LimitSettings()
        guard let inner = inner("limits", Self.limitKeys) else { return limits }
        limits.headBytes = inner.size("head", in: 1024...(16 << 20)) ?? limits.headBytes
        limits.fields = inner.integer("fields", in: 16...4096) ?? limits.fields
        limits.replayBytes = inner.size("replay", in: 0...(64 << 20)) ?? limits.replayBytes
        limits.replayTotalBytes =
            inner.size("replay_total", in: 0...(4 << 30)) ?? limits.replayTotalBytes
        limits.clients = inner.integer("clients", in: 1...1_000_000) ?? limits.clients
        limits.streams = inner.integer("streams", in: 1...10_000) ?? limits.streams
        limits.parkedRequests =
            inner.integer("parked_requests", in: 0...1_000_000) ?? limits.parkedRequests
        limits.idleUpstreams =
            inner.integer("idle_upstreams", in: 0...100_000) ?? limits.idleUpstreams
        return limits
    }

    func shutdown() -> ShutdownSettings {
        var shutdown = ShutdownSettings()
        guard let inner = inner("shutdown", Self.shutdownKeys) else { return shutdown }
        shutdown.grace = inner.duration("grace", in: 0...Self.day) ?? shutdown.grace
        shutdown.keepsAccepting = inner.bool("keep_accepting") ?? shutdown.keepsAccepting
        return shutdown
    }

    func log() -> LogSettings {
        var log = LogSettings()
        guard let inner = inner("log", Self.logKeys) else { return log }
        log.level =
            inner.choice("level", LogSettings.Level.allCases.map { ($0.rawValue, $0) }) ?? log.level
        log.format =
            inner.choice("format", LogSettings.Format.allCases.map { ($0.rawValue, $0) })
            ?? log.format
        log.access =
            inner.choice("access", LogSettings.Access.allCases.map { ($0.rawValue, $0) })
            ?? log.access
        return log
    }

    /// `environment`, `none`, a URL, or a mapping of URL and exceptions. What kinds of proxy can be
    /// used is for the dialler to say.
    func forwardProxy() -> ForwardProxySettings {
        guard let node = mapping.node("forward_proxy") else { return .environment }
        guard case .mapping = node.content else {
            guard let text = mapping.name("forward_proxy") else { return .environment }
            switch text.value {
            case "environment": return .environment
            case "none": return .none
            default: return proxy(text, exceptions: [])
            }
        }
        guard let inner = inner("forward_proxy", Self.forwardProxyKeys) else { return .environment }
        guard let url = inner.name("url") else {
            if !inner.has("url") { inner.missing("url", hint: "write url: http://proxy:3128") }
            return .environment
        }
        return proxy(url, exceptions: (inner.texts("except") ?? []).map(\.value))
    }

    private func proxy(_ text: Located<String>, exceptions: [String]) -> ForwardProxySettings {
        if namesUser(text.value) {
            problems.add(
                text.place,
                "the URL of a forward proxy names a user, and a password must not stand here",
                hint: "set it in the variable https_proxy and write forward_proxy: environment")
        } else if !["http://", "socks5://", "socks5h://", "socks4://", "socks4a://"].contains(
            where: text.value.hasPrefix)
        {
            problems.add(
                text.place, "\(quoted(text.value)) is no forward proxy that can be used",
                hint: text.value.hasPrefix("https://")
                    ? "use the http:// address of the same proxy; https traffic is tunnelled"
                    : "write it like http://proxy:3128 or socks5h://proxy:1080")
        }
        return .url(text.value, exceptions: exceptions)
    }
}
