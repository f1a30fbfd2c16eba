// What `proxy login` is told by flags about how the provider is to ask the person: each flag stands
// in place of the configuration's key.

import AuthCore
import Configuration

/// The flags of one login besides its scopes and its way to the browser.
struct LoginWishes: Sendable {
    private var hint: String?
    private var locales: [String] = []
    private var prompts: [String] = []
    private var contextClasses: [String] = []
    private var maxAgeSeconds: Int64?
    private var isScopeStrict = false
    private var switchesUser = false
    private(set) var timeoutSeconds: Int64 = 300
    private var hasTimeout = false

    init() {}

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        hint = try arguments.value(of: "--hint", "USER")
        locales = try Self.words("--locale", "L", &arguments)
        prompts = try Self.words("--prompt", "P", &arguments)
        contextClasses = try Self.words("--acr", "A", &arguments)
        maxAgeSeconds = try Self.seconds("--max-age", from: 0, &arguments)
        isScopeStrict = try arguments.flag("--strict-scope")
        switchesUser = try arguments.flag("--switch-user")
        if let seconds = try Self.seconds("--timeout", from: 1, &arguments) {
            timeoutSeconds = seconds
            hasTimeout = true
        }
    }

    /// How long a device's code is waited for.
    func seconds(of device: DevicePrompt) -> Int64 {
        let whole = Int64(clamping: device.expiresInSeconds)
        return hasTimeout ? min(whole, timeoutSeconds) : whole
    }

    func apply(to options: inout LoginOptions) {
        options.timeoutMilliseconds = UInt64(timeoutSeconds) * 1000
        if hasTimeout { options.deviceTimeoutMilliseconds = options.timeoutMilliseconds }
        options.loginHint = hint
        options.locales = locales
        options.prompts = prompts
        options.contextClasses = contextClasses
        options.maxAgeSeconds = maxAgeSeconds
        options.isScopeStrict = isScopeStrict
        options.switchesUser = switchesUser
    }

    /// Several in one value are several, as the parameters themselves are written.
    private static func words(
        _ flag: String, _ placeholder: String, _ arguments: inout ArgumentReader
    ) throws(UsageError) -> [String] {
        try arguments.values(of: flag, placeholder).flatMap {
            $0.split(separator: " ").map(String.init)
        }
    }

    /// At most a year.
    static func seconds(
        _ flag: String, from least: Int64, _ arguments: inout ArgumentReader
    ) throws(UsageError) -> Int64? {
        try arguments.value(
            of: flag, "D",
            as: { text in
                durationMilliseconds(text).map { Int64(clamping: $0 / 1000) }
                    .flatMap { (least...31_622_400).contains($0) ? $0 : nil }
            }, expected: "a duration, such as 30s or 5m")
    }
}
