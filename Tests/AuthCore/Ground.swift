// One credential with everything around it: a store in a directory of its own, a clock that stands
// still, an authorization server by script.

import Bytes
import Crossing
import Diagnostics
import Glibc
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

let github = CredentialID("github")!

/// The ground that a test stands on.
final class Ground: Sendable {
    let directory: TemporaryDirectory
    let clock = ManualClock()
    let fetcher: ScriptedFetcher
    let store: FileLoginStore
    let surroundings: Surroundings
    let published = Published()

    init(
        _ fetcher: ScriptedFetcher = ScriptedFetcher(), calls: FileCalls = .system,
        environment: [String: String] = ["PATH": "/usr/bin:/bin"], log: Log? = nil,
        sharing other: Ground? = nil
    ) throws {
        self.fetcher = fetcher
        directory = try other?.directory ?? TemporaryDirectory()
        store = FileLoginStore(directory: directory.path("state"), calls: calls)
        surroundings = Surroundings(
            store: store, fetcher: fetcher, time: clock,
            log: log ?? Log(level: .off, format: .text), environment: environment,
            secretVariables: ["SECRET"], chance: { 0 })
    }

    /// Whoever signs ID tokens.
    static let provider = TokenSigner()

    var record: String { directory.path("state/github.json") }

    /// The record's bytes, or nil.
    func recordBytes() throws -> [UInt8]? { try Files.read(record)?.bytes }

    var now: WallTime { clock.wallTime() }

    /// A login whose access token has so many seconds left of 300.
    func login(
        _ access: String = "AT1", refresh: String? = "RT1", secondsLeft: Int64? = 300
    ) -> Login {
        let obtainedAt = secondsLeft.map { now.advanced(by: $0 - 300) } ?? now
        var login = Login(clientID: "my-cli", obtainedAt: obtainedAt)
        login.issuer = "https://login.example.com"
        login.accessToken = SecretBytes(access)
        login.expiresAt = secondsLeft.map { now.advanced(by: $0) }
        login.refreshToken = refresh.map { SecretBytes($0) }
        return login
    }

    @discardableResult
    func save(
        _ access: String = "AT1", refresh: String? = "RT1", secondsLeft: Int64? = 300
    ) async throws -> Login {
        try await store.save(login(access, refresh: refresh, secondsLeft: secondsLeft), github)
    }

    /// What somebody does who knows nothing of our lock.
    func overwrite(_ login: Login) throws {
        let bytes = JSONWriter.write(login.document).withBytes { Array($0) }
        try Files.write(Octets(bytes), to: record + ".other")
        rename(record + ".other", record)
    }

    static var settings: OAuthSettings {
        var settings = OAuthSettings(
            endpoints: .fixed(
                authorization: "https://login.example.com/authorize",
                token: "https://login.example.com/token", issuer: "https://login.example.com"),
            clientID: "my-cli")
        settings.quirks = [.githubErrors]
        return settings
    }

    func keeper(
        _ settings: OAuthSettings = Ground.settings, desk: (any LoginDemanding)? = nil
    ) -> CredentialKeeper {
        let source = OAuthSource(
            github, settings, discovery: DiscoveryDesk(in: surroundings), in: surroundings)
        return keeper(
            source, desk: desk,
            policy: CredentialKeeper.Policy(
                leadSeconds: settings.refreshLeadSeconds,
                loginWaitMilliseconds: settings.loginWaitMilliseconds))
    }

    func keeper(
        _ source: any CredentialSource, desk: (any LoginDemanding)? = nil,
        policy: CredentialKeeper.Policy = CredentialKeeper.Policy()
    ) -> CredentialKeeper {
        CredentialKeeper(github, source: source, desk: desk, policy: policy, in: surroundings) {
            [published] generation, credential in
            published.add(generation, credential)
        }
    }
}

extension FileCalls {
    /// A file system that takes no new file.
    static var readOnly: FileCalls {
        var calls = FileCalls.system
        calls.create = { _, _ in
            errno = EROFS
            return -1
        }
        return calls
    }
}

extension Ground {
    /// A log of all levels, and what has been written to it.
    static func logFile() throws -> (messages: @Sendable () throws -> String, log: Log) {
        let directory = try TemporaryDirectory()
        let path = try directory.write("", to: "log")
        // Closed with the process.
        let log = Log(
            level: .debug, format: .text,
            to: .descriptor(open(path, O_WRONLY | O_APPEND | O_CLOEXEC)))
        return ({ try Files.read(directory.path("log"))?.text ?? "" }, log)
    }
}

/// What workers would have been told.
final class Published: Sendable {
    private let all = Mutex<[(generation: Generation, token: String?)]>([])

    func add(_ generation: Generation, _ credential: Credential?) {
        let token = credential.map { reveal($0.token) }
        all.withLock { $0.append((generation, token)) }
    }

    var tokens: [String?] { all.withLock { $0.map(\.token) } }
    var generations: [UInt64] { all.withLock { $0.map(\.generation.count) } }
}

/// Asks again, giving way to other tasks, until the answer is yes.
func eventually(
    _ what: Comment, within limit: Duration = .seconds(20),
    _ isTrue: @Sendable () async throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let end = ContinuousClock.now + limit
    while try await !isTrue() {
        guard ContinuousClock.now < end else {
            Issue.record(what, sourceLocation: sourceLocation)
            throw Failure.deadline(what.rawValue)
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

extension CredentialKeeper {
    /// The token as text.
    func text(newerThan generation: Generation = .none) async throws(Refusal) -> String {
        reveal(try await credential(newerThan: generation).token)
    }
}

extension Login {
    var access: String? { accessToken.map(reveal) }
    var refresh: String? { refreshToken.map(reveal) }
}

extension Refusal {
    var isLoginRequired: Bool { if case .loginRequired = self { true } else { false } }
    var isUnreachable: Bool { if case .tokenEndpointUnreachable = self { true } else { false } }
    var isMisconfigured: Bool { if case .credentialMisconfigured = self { true } else { false } }
    var isUnavailable: Bool { if case .credentialUnavailable = self { true } else { false } }
    var isDenied: Bool { if case .loginDenied = self { true } else { false } }

    var retryAfterSeconds: Int? {
        switch self {
        case .tokenEndpointUnreachable(let seconds): seconds
        case .loginRequired(_, _, _, let seconds): seconds
        case .credentialMisconfigured(_, let seconds): seconds
        default: nil
        }
    }
}
