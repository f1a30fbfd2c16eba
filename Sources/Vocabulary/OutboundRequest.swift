// A request of the control plane's own and what can come of it. Fetch performs it; OAuth builds it;
// neither knows the other.

package import Bytes

/// One HTTP request to an authorization server. Redirects are never followed.
package struct OutboundRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    /// Where a connection may lead.
    package enum Reach: Sendable {
        case anywhere
        /// Only to addresses of the public Internet, whatever a name says (see `PublicAddress`). A
        /// forward proxy keeps its own rules.
        case publicOnly
    }

    package struct Field: Sendable {
        package let name: String
        package let value: SecretBytes

        package init(_ name: String, _ value: SecretBytes) {
            self.name = name
            self.value = value
        }

        package init(_ name: String, _ value: String) {
            self.init(name, SecretBytes(value))
        }
    }

    package var method: Method
    /// An absolute http or https URL, already encoded; it never carries a secret.
    package var url: String
    package var fields: [Field]
    package var body: SecretBytes?
    /// Shown to the server where it asks for one.
    package var clientCertificate: ClientCertificate?
    /// From the first byte of the connection to the last of the answer.
    package var timeoutMilliseconds: UInt64
    package var responseBytesMax: Int
    package var reach = Reach.anywhere
    /// The path of the Unix socket where the server listens, whatever host the URL names.
    package var unixSocket: String?

    package init(
        _ method: Method, _ url: String, fields: [Field] = [], body: SecretBytes? = nil,
        timeoutMilliseconds: UInt64 = 30_000, responseBytesMax: Int = 1 << 20
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        clientCertificate = nil
        self.timeoutMilliseconds = timeoutMilliseconds
        self.responseBytesMax = responseBytesMax
    }
}

/// A whole answer, whatever its status.
package struct InboundResponse: Sendable {
    package var status: Int
    /// In order of arrival, names as they came.
    package var fields: [(name: String, value: String)]
    package var body: SecretBytes

    package init(status: Int, fields: [(name: String, value: String)] = [], body: SecretBytes) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The value of the first field of that name, compared without case.
    package func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }
}

/// Why no whole answer came. None of these says anything about a login.
package enum FetchError: Error, Hashable, Sendable {
    case invalidURL
    case nameNotResolved(host: String)
    case connectionRefused(host: String)
    /// The host leads into a private network, and the request may not.
    case notPublic(host: String)
    case tlsFailed(host: String, reason: String)
    case forwardProxyFailed(reason: String)
    /// `mayHaveArrived` is false only where no byte of the request can have been read.
    case timedOut(mayHaveArrived: Bool)
    case brokenOff(mayHaveArrived: Bool)
    case responseTooLarge(limit: Int)
    case notHTTP
    case cancelled
    case other(code: Int32, reason: String)
}

extension FetchError {
    /// Whether the server can have acted on the request.
    package var mayHaveArrived: Bool {
        switch self {
        case .invalidURL, .nameNotResolved, .connectionRefused, .notPublic, .tlsFailed,
            .forwardProxyFailed:
            false
        case .timedOut(let mayHaveArrived), .brokenOff(let mayHaveArrived): mayHaveArrived
        case .responseTooLarge, .notHTTP, .cancelled, .other: true
        }
    }
}

extension FetchError {
    /// In a few words, without the request.
    package var words: String {
        switch self {
        case .invalidURL: "the URL cannot be used"
        case .nameNotResolved(let host): "the name \"\(host)\" cannot be resolved"
        case .connectionRefused(let host): "\"\(host)\" refuses the connection"
        case .notPublic(let host): "\"\(host)\" leads into a private network"
        case .tlsFailed(let host, let reason): "TLS with \"\(host)\" failed: \(reason)"
        case .forwardProxyFailed(let reason): "the forward proxy failed: \(reason)"
        case .timedOut: "no answer in time"
        case .brokenOff: "the connection broke"
        case .responseTooLarge(let limit): "an answer of more than \(limit) bytes"
        case .notHTTP: "the answer is no HTTP"
        case .cancelled: "cancelled"
        case .other(_, let reason): reason
        }
    }
}

/// Who performs outbound requests; Fetch's is libcurl, a test's is a script.
package protocol Fetching: Sendable {
    func fetch(_ request: OutboundRequest) async throws(FetchError) -> InboundResponse
}
