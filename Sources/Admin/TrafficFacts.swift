// From the workers' report to what the page shows of a route and of a request.

package import Vocabulary

extension RouteTraffic {
    /// Answers of 500 and more, whoever gave them, and those that the upstream broke off.
    package var errors: UInt64 {
        answers.reduce(cutByUpstream) { $1.key.statusClass == 5 ? $0 &+ $1.value : $0 }
    }

    package var bucket: RouteFacts.Bucket {
        RouteFacts.Bucket(requests: requests, errors: errors)
    }
}

extension RouteFacts.Traffic {
    package init(_ report: RouteTraffic, _ buckets: [RouteFacts.Bucket]) {
        requests = report.requests
        errors = report.errors
        medianMilliseconds = report.duration.bound(of: 0.5)
        slowMilliseconds = report.duration.bound(of: 0.95)
        self.buckets = buckets
    }
}

extension RequestFacts {
    package init(_ request: RecentRequest) {
        var code: String?
        if case .proxy(let own) = request.answeredBy { code = own }
        self.init(
            at: WallTime(seconds: request.endedAt / 1000), method: request.method,
            path: request.path, status: request.status, milliseconds: request.milliseconds,
            code: code, id: request.id.description)
        isCut = request.isCut
    }
}

extension TrafficHistory {
    package mutating func sample(_ report: TrafficReport, at now: BootTime) {
        var totals: [String: RouteFacts.Bucket] = [:]
        for route in report.routes { totals[route.name] = route.bucket }
        sample(totals, at: now)
    }
}

extension StatusFacts {
    /// Adds what went through the routes; requests that found none get a line of their own.
    package mutating func add(_ report: TrafficReport, _ history: TrafficHistory) {
        for index in routes.indices {
            let name = routes[index].name
            let counted = report.routes.first { $0.name == name } ?? RouteTraffic(name: name)
            routes[index].traffic = .init(counted, history.buckets(of: name))
        }
        if let lost = report.routes.first(where: { $0.name.isEmpty }), lost.requests > 0 {
            var facts = RouteFacts(name: "no route", upstream: "answered 404", credential: nil)
            facts.traffic = .init(lost, history.buckets(of: ""))
            routes.append(facts)
        }
        requests = report.recent.prefix(Self.requestsMax).map(RequestFacts.init)
    }

    private static let requestsMax = 30
}
