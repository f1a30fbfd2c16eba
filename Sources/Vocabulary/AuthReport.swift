// What the auth core has done for each credential so far, as values: for a page, for metrics, for a
// test. No field can hold a token.

/// All credentials of one process, since its start.
package struct AuthReport: Hashable, Sendable {
    /// In the order of the configuration, as far as something has been counted; then the others.
    package var credentials: [CredentialActivity] = []

    package init() {}
}

/// One credential.
package struct CredentialActivity: Hashable, Sendable {
    package let id: CredentialID
    /// Renewals that brought a token.
    package var refreshes: UInt64 = 0
    /// Those that did not, by why: one of a few fixed words.
    package var refreshFailures: [String: UInt64] = [:]
    /// Tokens that were found in the store: of another process, or of a login.
    package var adoptions: UInt64 = 0
    /// Logins of a person that this process has finished.
    package var logins: UInt64 = 0
    /// Those that gave nothing, by how they ended: a fixed word.
    package var loginFailures: [String: UInt64] = [:]
    /// Requests to the token endpoint, from sending to the end of the answer.
    package var tokenRequests = Histogram()
    /// Those that brought no token, by what went wrong: a fixed word.
    package var tokenRequestFailures: [String: UInt64] = [:]
    /// Whether a request could be sent with what there is now.
    package var isUsable = false
    /// When the newest token expires; nil without one, and where nothing tells.
    package var expiresAt: WallTime?

    package init(id: CredentialID) { self.id = id }
}
