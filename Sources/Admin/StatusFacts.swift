// What the pages and endpoints of this room are made of: plain facts, gathered by whoever runs the proxy.
// None of them holds a secret, and nothing here asks for any.

package import Vocabulary

/// Everything about one moment of a running proxy.
package struct StatusFacts: Sendable {
    package var version: String
    package var now: WallTime
    package var startedAt: WallTime
    /// Where clients are listened for: URLs, or `unix:` and a path.
    package var addresses: [String]
    /// The proxy is ending: it finishes what runs.
    package var isDraining = false
    /// Why the last change of the configuration was not taken, sentence by sentence.
    package var configurationProblems: [String] = []
    package var credentials: [CredentialFacts] = []
    package var routes: [RouteFacts] = []
    /// The newest first.
    package var requests: [RequestFacts] = []

    package init(version: String, now: WallTime, startedAt: WallTime, addresses: [String]) {
        self.version = version
        self.now = now
        self.startedAt = startedAt
        self.addresses = addresses
    }
}

/// One credential.
package struct CredentialFacts: Sendable {
    package enum Kind: Sendable {
        /// A login, or what a machine is given without one.
        case login, machine
        case file, environment, command
    }

    /// A login that requests have asked for and nobody has taken part in yet.
    package struct PendingLogin: Hashable, Sendable {
        package var url: String
        /// What is typed there, where anything is.
        package var userCode: String?

        package init(url: String, userCode: String?) {
            self.url = url
            self.userCode = userCode
        }
    }

    package var name: String
    package var kind: Kind
    package var state: CredentialState
    /// Why it is in that state.
    package var detail: String?
    /// A command that mends it.
    package var hint: String?
    package var issuer: String?
    package var subject: String?
    package var scopes: [String] = []
    package var missingScopes: [String] = []
    package var obtainedAt: WallTime?
    package var expiresAt: WallTime?
    package var nextRefreshAt: WallTime?
    package var isRenewable = false
    package var loginEndsAt: WallTime?
    package var endsSoon = false
    package var lastRefreshAt: WallTime?
    package var failingSince: WallTime?
    package var lastError: String?
    package var lastErrorAt: WallTime?
    /// Our clock less the provider's, in seconds, where that is worth saying.
    package var clockDifference: Int64?
    package var metadataStaleSince: WallTime?
    /// What upstreams said against it, the newest first.
    package var refusals: [(sentence: String, at: WallTime)] = []
    package var pendingLogin: PendingLogin?
    /// Whether a person can log in to it, whether it can be renewed now, whether there is a login to end.
    package var canLogIn = false
    package var canRefresh = false
    package var canLogOut = false
    /// The facts as `proxy status --json` gives them.
    package var document: JSONValue = [:]

    package init(name: String, kind: Kind, state: CredentialState) {
        self.name = name
        self.kind = kind
        self.state = state
    }
}

/// One route, and what went through it since the start.
package struct RouteFacts: Sendable {
    /// Counts of one stretch of time.
    package struct Bucket: Hashable, Sendable {
        package var requests: UInt64
        package var errors: UInt64

        package init(requests: UInt64, errors: UInt64) {
            self.requests = requests
            self.errors = errors
        }
    }

    package struct Traffic: Sendable {
        package var requests: UInt64 = 0
        /// Answers of 500 and more, whoever gave them, and those that the upstream broke off.
        package var errors: UInt64 = 0
        /// What half of them, and 95 of a hundred, did not exceed from the request's head to the answer's
        /// end, in milliseconds; nil where that is not known.
        package var medianMilliseconds: UInt64?
        package var slowMilliseconds: UInt64?
        /// The oldest first.
        package var buckets: [Bucket] = []

        package init() {}
    }

    /// Its host and path as the configuration has them.
    package var name: String
    package var upstream: String
    package var credential: String?
    /// Nil where nothing is counted.
    package var traffic: Traffic?

    package init(name: String, upstream: String, credential: String?) {
        self.name = name
        self.upstream = upstream
        self.credential = credential
    }
}

/// One request that has ended.
package struct RequestFacts: Sendable {
    package var at: WallTime
    package var method: String
    /// Without its query.
    package var path: String
    /// 0 where the client left before an answer.
    package var status: Int
    package var milliseconds: UInt64
    /// Nil for the API's own answer, else the code of ours.
    package var code: String?
    /// The answer broke off.
    package var isCut = false
    package var id: String

    package init(
        at: WallTime, method: String, path: String, status: Int, milliseconds: UInt64,
        code: String?, id: String
    ) {
        self.at = at
        self.method = method
        self.path = path
        self.status = status
        self.milliseconds = milliseconds
        self.code = code
        self.id = id
    }
}
