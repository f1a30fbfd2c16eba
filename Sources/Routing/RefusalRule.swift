// What a route's configuration says of refusals where its API does not keep to RFC 6750. The meaning of
// all others, and of these when no rule fits, is DataPlane's.

/// One exception; the first that fits a response counts.
package struct RefusalRule: Hashable, Sendable {
    package enum Action: String, CaseIterable, Sendable {
        /// Hand the response on as it is.
        case pass
        /// Get a newer credential and send the request once more.
        case refresh
        /// Hand the response on, and have a person asked for another login. The one that there is stays.
        case login
        /// Answer ourselves that the API refuses; what it says goes no further.
        case fail
    }

    /// 400 to 599.
    package var status: Int
    /// The scheme of a challenge, in lower case; nil for any response.
    package var scheme: String?
    /// The `error` of a challenge; nil for any.
    package var error: String?
    package var action: Action

    package init(status: Int, scheme: String? = nil, error: String? = nil, action: Action) {
        self.status = status
        self.scheme = scheme
        self.error = error
        self.action = action
    }

    /// Whether a response of that status fits.
    ///
    /// - Parameter challenges: scheme in lower case, and `error`, of each of its challenges.
    package func fits(status: Int, challenges: [(scheme: String, error: String?)]) -> Bool {
        guard status == self.status else { return false }
        if scheme == nil && error == nil { return true }
        return challenges.contains { challenge in
            (scheme == nil || scheme == challenge.scheme)
                && (error == nil || error == challenge.error)
        }
    }
}
