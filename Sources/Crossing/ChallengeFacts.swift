// What an upstream said when it refused a request with a credential, as far as the auth core can use it.
// Values only; every text was written by a stranger and is bounded and printable ASCII.

package import Vocabulary

/// One refusal (RFC 6750 section 3; RFC 9449 section 7.1; RFC 9470; RFC 9728 section 5.1).
package struct ChallengeFacts: Hashable, Sendable {
    package var upstream: Origin
    /// 4xx or 5xx.
    package var status: Int
    /// `invalid_token`, `insufficient_scope` and their like; nil where none was named.
    package var error: String?
    /// The scopes that the request needs, separated by spaces.
    package var scope: String?
    /// Authentication classes, separated by spaces.
    package var acrValues: String?
    /// How old the person's authentication may be.
    package var maxAgeSeconds: Int64?
    /// Where the API describes itself; a URL by its looks, not checked.
    package var resourceMetadata: String?
    /// Whether a renewed credential was refused as well.
    package var isAfterRenewal = false
    /// Whether the route's configuration says that only another login helps.
    package var wantsLogin = false
    /// The `Date` of the answer as it came, for a look at the clocks.
    package var date: String?

    package init(upstream: Origin, status: Int) {
        self.upstream = upstream
        self.status = status
    }
}
