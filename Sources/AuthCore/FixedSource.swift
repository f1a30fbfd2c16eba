// Tokens that somebody else makes: in a file, which is read again when it changes, in a variable, or
// printed by a program.

import Bytes
import OAuth
import TokenStore
import Vocabulary

/// A file or a variable.
actor FixedSource: CredentialSource {
    private let source: SecretSource
    private let injection: Injection
    private let surroundings: Surroundings
    private var stamp: FileStamp?
    private var hasLooked = false

    init(
        _ source: SecretSource, for injection: Injection = Injection(),
        in surroundings: Surroundings
    ) {
        self.source = source
        self.injection = injection
        self.surroundings = surroundings
    }

    func look() async -> Look {
        var stamp: FileStamp?
        if case .file(let path) = source { stamp = await SecretFile.stamp(path) }
        guard !hasLooked || stamp != self.stamp else { return .unchanged }
        hasLooked = true
        self.stamp = stamp
        do throws(SecretError) {
            let token = try await source.readCredential(for: injection, in: surroundings)
            return .changed(
                Supply(
                    token: Token(token, usableUntil: nil, lifetimeMilliseconds: nil),
                    obstacle: .nothingNewer))
        } catch {
            return .changed(Supply(token: nil, obstacle: .unavailable(reason: error.message)))
        }
    }

    /// Another token comes with a change of the file, never by asking.
    func renew(rejected: SecretBytes?, isUrgent: Bool) async throws(Lack) -> Supply {
        throw .nothingNewer
    }

    func accept(_ login: Login) async {}
    func finish() async {}
}

/// A program that prints a token, or JSON with `access_token` and `expires_in`.
struct ProgramSource: CredentialSource {
    private let arguments: [String]
    private let lifetimeSeconds: Int64?
    private let injection: Injection
    private let surroundings: Surroundings

    init(
        _ arguments: [String], lifetimeSeconds: Int64?, for injection: Injection = Injection(),
        in surroundings: Surroundings
    ) {
        self.arguments = arguments
        self.injection = injection
        self.lifetimeSeconds = lifetimeSeconds
        self.surroundings = surroundings
    }

    func look() async -> Look { .unchanged }

    func accept(_ login: Login) async {}
    func finish() async {}

    func renew(rejected: SecretBytes?, isUrgent: Bool) async throws(Lack) -> Supply {
        let source = SecretSource.command(arguments)
        do throws(SecretError) {
            let printed = try await source.readRaw(in: surroundings)
            let boot = surroundings.time.bootTime()
            let (token, seconds) = try read(printed, source: source.name)
            let lifetime = (seconds ?? lifetimeSeconds).map {
                UInt64(clamping: $0).multipliedClamping(by: 1000)
            }
            return Supply(
                token: Token(
                    token, usableUntil: lifetime.map { boot.advanced(byMilliseconds: $0) },
                    lifetimeMilliseconds: lifetime),
                obstacle: nil)
        } catch {
            throw .unavailable(reason: error.message)
        }
    }

    private func read(
        _ printed: SecretBytes, source: String
    ) throws(SecretError) -> (SecretBytes, Int64?) {
        guard let object = (try? JSONReader.read(printed, strings: .secret))?.asObject else {
            return (try SecretText.credential(printed, source: source, for: injection), nil)
        }
        guard let token = object["access_token"]?.asSecret else { throw .noToken(source: source) }
        let seconds = object["expires_in"].flatMap(TokenResponse.seconds)
        return (
            try SecretText.credential(token, source: source, for: injection),
            seconds.flatMap { $0 > 0 ? $0 : nil }
        )
    }
}
