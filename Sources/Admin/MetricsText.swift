// The numbers of a running proxy in Prometheus' text format (version 0.0.4). A pure function of values: labels are
// names of routes and credentials, which the configuration bounds, and words that this program has made.

package import Vocabulary

/// What a scrape is answered with.
package enum MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// What is neither traffic nor a credential's.
    package struct Facts: Sendable {
        package var version = ""
        package var startedAt = WallTime(seconds: 0)
        /// Lines that the log had no room for.
        package var lostLogLines: UInt64 = 0
        /// Configurations that were taken over since the start.
        package var reloads: UInt64 = 0
        /// Whether the file on disk is the one that is in force.
        package var isReloadRefused = false

        package init() {}
    }

    package static func write(
        _ traffic: TrafficReport, _ auth: AuthReport, _ facts: Facts
    ) -> String {
        var text = MetricsWriter()
        text.write(facts)
        text.write(traffic)
        for family in routeFamilies { text.write(family, traffic.routes) }
        text.write(auth)
        return text.text
    }
}

// MARK: The process

extension MetricsWriter {
    fileprivate mutating func write(_ facts: MetricsText.Facts) {
        family("build_info", .gauge, "The version that runs; always 1.")
        sample([("version", facts.version)], 1)
        family("process_start_time_seconds", .gauge, "When it started, as Unix time.", own: false)
        sample([], facts.startedAt.seconds)
        family("log_lines_lost_total", .counter, "Log lines that nobody took in time.")
        sample([], facts.lostLogLines)
        family(
            "configuration_reloads_total", .counter, "Configurations taken over since the start.")
        sample([], facts.reloads)
        family(
            "configuration_refused", .gauge,
            "1 while the configuration file is at fault and an earlier version is in force.")
        sample([], facts.isReloadRefused ? 1 : 0)
    }

    fileprivate mutating func write(_ traffic: TrafficReport) {
        family("workers", .gauge, "Threads that serve requests.")
        sample([], UInt64(traffic.workers))
        family("requests_in_flight", .gauge, "Requests that have begun and not ended.")
        sample([], traffic.underWay)
        family("requests_waiting", .gauge, "Requests that wait for a credential.")
        sample([], traffic.parked)
        family("client_connections", .gauge, "Open connections of clients.")
        sample([], traffic.clients.open)
        family("client_connections_opened_total", .counter, "Connections that clients have made.")
        sample([], traffic.clients.total)
        family("upstream_connections", .gauge, "Open connections to upstreams, by what they do.")
        sample([("state", "idle")], traffic.idleUpstreams)
        sample(
            [("state", "busy")],
            traffic.upstreams.open - min(traffic.idleUpstreams, traffic.upstreams.open))
        family("upstream_connections_opened_total", .counter, "Connections made to upstreams.")
        sample([], traffic.upstreams.total)
    }
}

// MARK: Routes

/// A family that has samples for each route.
private struct RouteFamily: Sendable {
    let name: String
    let kind: MetricsWriter.Kind
    let help: String
    let samples: @Sendable (RouteTraffic, inout MetricsWriter) -> Void
}

extension RouteTraffic {
    /// Requests that found no route have an empty label, which is the same as none.
    fileprivate var label: (String, String) { ("route", name) }

    fileprivate func count(_ value: UInt64, _ writer: inout MetricsWriter) {
        writer.sample([label], value)
    }
}

private let routeFamilies: [RouteFamily] = [
    RouteFamily(
        name: "requests_total", kind: .counter,
        help:
            "Requests that have ended, by class of status and by who answered; code is the proxy's."
    ) { route, writer in
        for (answer, count) in route.answers.sorted(by: { $0.key < $1.key }) {
            writer.sample([route.label] + answer.labels, count)
        }
    },
    RouteFamily(
        name: "request_duration_seconds", kind: .histogram,
        help: "From the end of a request's head to the end of the answer."
    ) { $1.histogram([$0.label], $0.duration) },
    RouteFamily(
        name: "upstream_head_duration_seconds", kind: .histogram,
        help: "From sending a request to the end of the upstream's head, of the last attempt."
    ) { $1.histogram([$0.label], $0.upstreamHead) },
    RouteFamily(
        name: "request_body_bytes_total", kind: .counter, help: "Bytes of bodies that clients sent."
    ) { $0.count($0.requestBytes, &$1) },
    RouteFamily(
        name: "response_body_bytes_total", kind: .counter,
        help: "Bytes of bodies that upstreams sent to clients."
    ) { $0.count($0.responseBytes, &$1) },
    RouteFamily(
        name: "replays_total", kind: .counter,
        help: "Requests that were sent again, with a newer credential or another proof."
    ) { $0.count($0.replays, &$1) },
    RouteFamily(
        name: "credential_waits_total", kind: .counter,
        help: "How often a request began to wait for a credential."
    ) { $0.count($0.parked, &$1) },
    RouteFamily(
        name: "responses_cut_total", kind: .counter,
        help: "Answers of upstreams that did not come to their end, by whose side broke off."
    ) { route, writer in
        writer.sample([route.label, ("cut_by", "client")], route.cutByClient)
        writer.sample([route.label, ("cut_by", "upstream")], route.cutByUpstream)
    },
]

extension RouteTraffic.Answer: Comparable {
    package static func < (left: Self, right: Self) -> Bool {
        (left.words, left.statusClass) < (right.words, right.statusClass)
    }

    /// Who, and the code of the proxy's own.
    private var words: String {
        switch by {
        case .upstream: "upstream"
        case .proxy(let code): "proxy/\(code)"
        case .nobody: "nobody"
        }
    }

    fileprivate var labels: [(String, String)] {
        let (who, code) =
            switch by {
            case .upstream: ("upstream", "")
            case .proxy(let code): ("proxy", code)
            case .nobody: ("nobody", "")
            }
        return [
            ("class", statusClass == 0 ? "none" : "\(statusClass)xx"), ("answered_by", who),
            ("code", code),
        ]
    }
}

extension MetricsWriter {
    /// Nothing at all where there is no route yet: a family without samples says nothing.
    fileprivate mutating func write(_ family: RouteFamily, _ routes: [RouteTraffic]) {
        self.family(family.name, family.kind, family.help)
        for route in routes { family.samples(route, &self) }
    }
}

// MARK: Credentials

extension MetricsWriter {
    fileprivate mutating func write(_ auth: AuthReport) {
        let credentials = auth.credentials
        func each(
            _ name: String, _ kind: Kind, _ help: String,
            _ samples: (CredentialActivity, [(String, String)], inout MetricsWriter) -> Void
        ) {
            family(name, kind, help)
            for credential in credentials {
                samples(credential, [("credential", credential.id.name)], &self)
            }
        }
        each("credential_usable", .gauge, "1 while a request could be sent with what there is.") {
            $2.sample($1, $0.isUsable ? 1 : 0)
        }
        each(
            "token_expiry_timestamp_seconds", .gauge,
            "When the newest token expires, as Unix time; absent where nothing tells."
        ) { if let expiry = $0.expiresAt { $2.sample($1, expiry.seconds) } }
        each("refreshes_total", .counter, "Renewals that brought a token.") {
            $2.sample($1, $0.refreshes)
        }
        each("refresh_failures_total", .counter, "Renewals that did not, by cause.") {
            $2.causes($1, $0.refreshFailures)
        }
        each(
            "tokens_adopted_total", .counter,
            "Tokens found in the store: another process's or a login's."
        ) { $2.sample($1, $0.adoptions) }
        each("logins_total", .counter, "Logins that this process has finished.") {
            $2.sample($1, $0.logins)
        }
        each("login_failures_total", .counter, "Logins that gave nothing, by cause.") {
            $2.causes($1, $0.loginFailures)
        }
        each(
            "token_request_duration_seconds", .histogram,
            "Requests to the token endpoint, from sending to the end of the answer."
        ) { $2.histogram($1, $0.tokenRequests) }
        each(
            "token_request_failures_total", .counter,
            "Requests to the token endpoint that brought no token, by cause."
        ) { $2.causes($1, $0.tokenRequestFailures) }
    }
}
