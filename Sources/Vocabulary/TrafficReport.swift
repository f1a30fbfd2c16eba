// What the workers have done so far, as values: for a page, for metrics, for a test. Nothing in it was
// written by a client but methods and paths, and no path has its query.

/// All traffic since the start, of one worker or of all.
package struct TrafficReport: Hashable, Sendable {
    /// By name; requests that found no route are under the empty one. A route that the configuration
    /// no longer has keeps its numbers.
    package var routes: [RouteTraffic] = []
    /// Requests that have begun and not ended.
    package var underWay: UInt64 = 0
    /// Requests that wait for a credential right now.
    package var parked: UInt64 = 0
    package var clients = ConnectionCount()
    package var upstreams = ConnectionCount()
    /// Of `upstreams.open`, those that wait for a request.
    package var idleUpstreams: UInt64 = 0
    /// The newest first.
    package var recent: [RecentRequest] = []
    package var workers = 0

    package init() {}

    /// How many of the newest requests are remembered, by each worker and by all together.
    package static let recentMax = 64
}

/// Connections.
package struct ConnectionCount: Hashable, Sendable {
    package var open: UInt64 = 0
    /// Since the start.
    package var total: UInt64 = 0

    package init() {}

    package mutating func opened() {
        open &+= 1
        total &+= 1
    }

    package mutating func closed() { open &-= 1 }
}

/// Who gave the answer that a request ended with.
package enum Answerer: Hashable, Sendable {
    case upstream
    /// The proxy itself; the code is that of the answer ("login_required"), `preflight` for CORS.
    case proxy(code: String)
    /// The client went away before there was an answer.
    case nobody
}

/// The requests of one route.
package struct RouteTraffic: Hashable, Sendable {
    /// Answers that belong together.
    package struct Answer: Hashable, Sendable {
        package var by: Answerer
        /// The first digit; 1 for an agreed upgrade, 0 where there was no answer.
        package var statusClass: Int

        package init(by answerer: Answerer, statusClass: Int) {
            by = answerer
            self.statusClass = statusClass
        }
    }

    /// Host and path prefix as configured; empty for requests that found no route.
    package var name: String
    package var answers: [Answer: UInt64] = [:]
    /// From the end of the request's head to the end of the answer.
    package var duration = Histogram()
    /// From the request being sent to the end of the answer's head, of the last attempt.
    package var upstreamHead = Histogram()
    /// Bodies that clients sent, and bodies that they were sent by the upstream.
    package var requestBytes: UInt64 = 0
    package var responseBytes: UInt64 = 0
    /// Requests that were sent again, with a newer credential or another proof.
    package var replays: UInt64 = 0
    /// How often a request began to wait for a credential.
    package var parked: UInt64 = 0
    /// Answers of an upstream's that did not come to their end, and whose side broke off.
    package var cutByClient: UInt64 = 0
    package var cutByUpstream: UInt64 = 0

    package init(name: String) { self.name = name }

    /// All that have ended.
    package var requests: UInt64 { answers.values.reduce(0, &+) }
}

/// One of the newest requests.
package struct RecentRequest: Hashable, Sendable {
    /// As logs show it.
    package var id: RequestID
    /// When it ended, in milliseconds since 1970-01-01 UTC; as good as the wall clock was then.
    package var endedAt: Int64
    package var milliseconds: UInt64
    /// As the client wrote it, or the beginning of that; printable ASCII.
    package var method: String
    /// Without the query; the beginning, where it is long. Printable ASCII.
    package var path: String
    package var route: String
    /// 0 where there was no answer.
    package var status: Int
    package var answeredBy: Answerer
    /// Whether the answer broke off.
    package var isCut: Bool

    package init(
        id: RequestID, endedAt: Int64, milliseconds: UInt64, method: String, path: String,
        route: String, status: Int, answeredBy: Answerer, isCut: Bool
    ) {
        self.id = id
        self.endedAt = endedAt
        self.milliseconds = milliseconds
        self.method = method
        self.path = path
        self.route = route
        self.status = status
        self.answeredBy = answeredBy
        self.isCut = isCut
    }
}

/// Names one request of one process: sixteen hexadecimal digits, of which the first eight tell process
/// and worker.
package struct RequestID: Hashable, Sendable, CustomStringConvertible {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package var description: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension TrafficReport {
    /// The traffic of another worker, or of one that has ended, besides this.
    package mutating func add(_ other: TrafficReport) {
        var places: [String: Int] = [:]
        for (place, route) in routes.enumerated() { places[route.name] = place }
        for route in other.routes {
            if let place = places[route.name] {
                routes[place].add(route)
            } else {
                routes.append(route)
            }
        }
        routes.sort { $0.name < $1.name }
        underWay &+= other.underWay
        parked &+= other.parked
        clients.add(other.clients)
        upstreams.add(other.upstreams)
        idleUpstreams &+= other.idleUpstreams
        workers += other.workers
        recent += other.recent
        recent.sort { ($0.endedAt, $0.id.number) > ($1.endedAt, $1.id.number) }
        recent.removeLast(max(0, recent.count - Self.recentMax))
    }
}

extension ConnectionCount {
    fileprivate mutating func add(_ other: ConnectionCount) {
        open &+= other.open
        total &+= other.total
    }
}

extension RouteTraffic {
    fileprivate mutating func add(_ other: RouteTraffic) {
        answers.merge(other.answers, uniquingKeysWith: &+)
        duration += other.duration
        upstreamHead += other.upstreamHead
        requestBytes &+= other.requestBytes
        responseBytes &+= other.responseBytes
        replays &+= other.replays
        parked &+= other.parked
        cutByClient &+= other.cutByClient
        cutByUpstream &+= other.cutByUpstream
    }
}
