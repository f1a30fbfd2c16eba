// Adding up what several workers say, and what their histograms tell.

import Testing
import Vocabulary

@Suite struct `A histogram` {
    @Test func `counts each value once, at the first bound that it does not exceed`() {
        var histogram = Histogram()
        for value: UInt64 in [0, 1, 2, 3, 60_000, 60_001] { histogram.add(value) }
        #expect(histogram.counts.first == 2)
        #expect(histogram.counts[1...2] == [1, 1])
        #expect(histogram.counts.suffix(2) == [1, 1])
        #expect(histogram.count == 6 && histogram.sum == 120_007)
        #expect(Histogram.bounds.first == Histogram.firstBound)
        #expect(Histogram.bounds == Histogram.bounds.sorted())
    }

    @Test func `tells what most values do not exceed`() {
        var histogram = Histogram()
        #expect(histogram.bound(of: 0.5) == nil)
        for value: UInt64 in [1, 4, 4, 90] { histogram.add(value) }
        #expect(histogram.bound(of: 0.25) == 1)
        #expect(histogram.bound(of: 0.5) == 5)
        #expect(histogram.bound(of: 0.99) == 100)
        histogram.add(100_000)
        #expect(histogram.bound(of: 1) == nil, "beyond the last bound")
    }
}

@Suite struct `A traffic report` {
    private func report(_ routes: [(String, UInt64)], ids: [UInt64]) -> TrafficReport {
        var report = TrafficReport()
        report.workers = 1
        report.clients.opened()
        for (name, count) in routes {
            var route = RouteTraffic(name: name)
            route.answers[.init(by: .upstream, statusClass: 2)] = count
            route.duration.add(count)
            route.replays = 1
            report.routes.append(route)
        }
        report.recent = ids.reversed().map { id in
            RecentRequest(
                id: RequestID(id), endedAt: Int64(id), milliseconds: 1, method: "GET", path: "/",
                route: "/", status: 200, answeredBy: .upstream, isCut: false)
        }
        return report
    }

    @Test func `adds another worker's, route by route`() {
        var sum = report([("/b", 2), ("", 1)], ids: [1, 3])
        sum.add(report([("/a", 5), ("/b", 3)], ids: [2, 4]))
        #expect(sum.routes.map(\.name) == ["", "/a", "/b"])
        #expect(sum.routes.map(\.requests) == [1, 5, 5])
        #expect(sum.routes.map(\.replays) == [1, 1, 2])
        #expect(sum.routes[2].duration.count == 2 && sum.routes[2].duration.sum == 5)
        #expect(sum.workers == 2 && sum.clients.open == 2 && sum.clients.total == 2)
        #expect(sum.recent.map(\.id.number) == [4, 3, 2, 1])
    }

    @Test func `remembers the newest only`() {
        let count = UInt64(TrafficReport.recentMax)
        var sum = report([], ids: Array(0..<count))
        sum.add(report([], ids: Array(count..<(count + 10))))
        #expect(sum.recent.count == TrafficReport.recentMax)
        #expect(sum.recent.first?.id.number == count + 9)
        #expect(sum.recent.last?.id.number == 10)
    }

    @Test func `names requests in sixteen digits`() {
        #expect("\(RequestID(0xAB_0000_0001))" == "000000ab00000001")
    }
}
