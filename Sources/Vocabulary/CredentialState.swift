// How a credential is, in one word that `proxy status`, the status page and programs share.

/// Who has to do what, if anybody anything (F89): nobody for the first three.
package enum CredentialState: String, CaseIterable, Sendable {
    /// A request can be sent now.
    case usable
    /// The token has expired; the next request renews it.
    case renewable
    /// The token has expired, and the provider is not well; it is tried again by itself.
    case failing = "temporarily_failing"
    case loginRequired = "login_required"
    /// The provider said no: to the person, or to this client.
    case denied
    /// The provider refuses this client as it is configured.
    case misconfigured
    /// Neither a token nor a way to one, and no login would help.
    case unavailable

    /// Whether a request that comes now can be sent with it.
    package var isReady: Bool { self == .usable || self == .renewable }
}
