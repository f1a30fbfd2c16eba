// What the keeper knows of where a token comes from: it can be looked at for nothing and renewed at a
// price. When to do which is the keeper's; how it is done is the source's.

import Bytes
import TokenStore
import Vocabulary

/// A token and how long it is good for.
struct Token: Sendable {
    let secret: SecretBytes
    /// Not to be sent from then on; nil where nothing tells.
    let usableUntil: BootTime?
    /// From its issue to its expiry; nil where nothing tells.
    let lifetimeMilliseconds: UInt64?
    /// The key that it is bound to (RFC 9449), if any.
    let proofKey: SecretBytes?
    /// To be renewed then, even where it is good for longer.
    var renewBy: BootTime?

    init(
        _ secret: SecretBytes, usableUntil: BootTime?, lifetimeMilliseconds: UInt64?,
        proofKey: SecretBytes? = nil
    ) {
        self.proofKey = proofKey
        self.secret = secret
        self.usableUntil = usableUntil
        self.lifetimeMilliseconds = lifetimeMilliseconds
    }

    func isUsable(at now: BootTime) -> Bool { usableUntil.map { now < $0 } ?? true }
}

/// What a source has.
struct Supply: Sendable {
    /// The newest token, expired or not.
    var token: Token?
    /// Why it cannot be renewed; nil when it can.
    var obstacle: Lack?
}

enum Look: Sendable {
    case unchanged
    case changed(Supply)
}

/// One credential's origin. The keeper calls one method at a time.
protocol CredentialSource: Sendable {
    /// What is there now, asking nobody: called once a second.
    func look() async -> Look

    /// Gets a token other than `rejected`.
    ///
    /// - Parameter isUrgent: requests wait for it, as opposed to a renewal ahead of expiry.
    func renew(
        rejected: SecretBytes?, isUrgent: Bool
    ) async throws(Lack) -> Supply

    /// Takes over a login that the store could not take; none where no person can log in.
    func accept(_ login: Login) async

    /// Waits for what must not be lost, such as a login that could not be written so far.
    func finish() async

    /// Of the files that it reads secrets from; it changes when one is replaced.
    var secretStamps: [FileStamp?] { get }

    /// How far our clock is from the provider's; nil where it never told.
    var clockDifference: ClockDifference? { get }
}

extension CredentialSource {
    var clockDifference: ClockDifference? { nil }
    var secretStamps: [FileStamp?] { [] }
}

extension OAuthSettings {
    /// Of the files with what shows who the client is.
    var secretStamps: [FileStamp?] {
        var paths: [String] = []
        for case .file(let path)? in [clientSecret, privateKey] { paths.append(path) }
        if let clientCertificate {
            paths += [clientCertificate.certificatePath, clientCertificate.keyPath]
        }
        return paths.map { FileStamp(following: $0) }
    }
}
