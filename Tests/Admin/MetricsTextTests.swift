// The text that a scrape gets, line by line.

import Testing
import Vocabulary

@testable import Admin

@Suite struct `Metrics` {
    private var traffic: TrafficReport {
        var report = TrafficReport()
        report.workers = 2
        report.underWay = 3
        report.upstreams.open = 5
        report.idleUpstreams = 4
        var none = RouteTraffic(name: "")
        none.answers[.init(by: .proxy(code: "route_not_found"), statusClass: 4)] = 7
        none.answers[.init(by: .nobody, statusClass: 0)] = 1
        var route = RouteTraffic(name: "api.local/\"v1\\\n")
        route.answers[.init(by: .upstream, statusClass: 2)] = 9
        for value: UInt64 in [0, 3, 1500, 70_000] { route.duration.add(value) }
        route.cutByUpstream = 2
        report.routes = [none, route]
        return report
    }

    private var auth: AuthReport {
        var activity = CredentialActivity(id: CredentialID("github")!)
        activity.refreshes = 4
        activity.refreshFailures = ["unreachable": 2, "denied": 1]
        activity.isUsable = true
        activity.expiresAt = WallTime(seconds: 1_796_048_798)
        var report = AuthReport()
        report.credentials = [activity, CredentialActivity(id: CredentialID("other")!)]
        return report
    }

    private var text: String {
        var facts = MetricsText.Facts()
        facts.version = "1.2.3"
        return MetricsText.write(traffic, auth, facts)
    }

    private func lines(of family: String) -> [String] {
        text.split(separator: "\n").map(String.init).filter {
            !$0.hasPrefix("#") && $0.hasPrefix("credential_proxy_" + family)
        }
    }

    @Test func `tell requests by class and by who answered`() {
        #expect(
            lines(of: "requests_total") == [
                #"credential_proxy_requests_total{route="",class="none",answered_by="nobody",code=""} 1"#,
                #"credential_proxy_requests_total{route="",class="4xx",answered_by="proxy",code="route_not_found"} 7"#,
                #"credential_proxy_requests_total{route="api.local/\"v1\\\n",class="2xx",answered_by="upstream",code=""} 9"#,
            ])
    }

    @Test func `add up the buckets of a histogram, in seconds`() {
        let found = lines(of: "request_duration_seconds").filter { $0.contains("v1") }
        func value(_ end: String) -> String? {
            found.first { $0.contains(end) }?.split(separator: " ").last.map(String.init)
        }
        #expect(value(#"le="0.001""#) == "1")
        #expect(value(#"le="0.005""#) == "2")
        #expect(value(#"le="1""#) == "2")
        #expect(value(#"le="2""#) == "3")
        #expect(value(#"le="60""#) == "3")
        #expect(value(#"le="+Inf""#) == "4")
        #expect(value("_sum") == "71.503" && value("_count") == "4")
        #expect(found.count == Histogram.bounds.count + 3)
    }

    @Test func `tell what happened to each credential`() {
        #expect(
            lines(of: "refresh_failures_total") == [
                #"credential_proxy_refresh_failures_total{credential="github",cause="denied"} 1"#,
                #"credential_proxy_refresh_failures_total{credential="github",cause="unreachable"} 2"#,
            ])
        #expect(
            lines(of: "token_expiry_timestamp_seconds") == [
                #"credential_proxy_token_expiry_timestamp_seconds{credential="github"} 1796048798"#
            ])
        #expect(lines(of: "credential_usable").map { $0.last } == ["1", "0"])
        #expect(lines(of: "upstream_connections{").map { $0.last } == ["4", "1"])
    }

    @Test func `describe each family once, before its samples`() {
        var described: [String] = []
        for line in text.split(separator: "\n").map(String.init) {
            let words = line.split(separator: " ").map(String.init)
            if line.hasPrefix("# TYPE") {
                described.append(words[2])
            } else if !line.hasPrefix("#") {
                #expect(line.hasPrefix(described.last ?? "?"), "\(line)")
            }
        }
        #expect(Set(described).count == described.count && described.count > 25)
    }

    @Test(arguments: [(0, "0"), (1, "0.001"), (20, "0.02"), (1000, "1"), (90_500, "90.5")])
    func `write seconds without needless digits`(milliseconds: UInt64, text: String) {
        #expect(MetricsWriter.seconds(milliseconds) == text)
    }
}
