import Testing
import Vocabulary

@testable import Admin

@Suite struct `Traffic history` {
    private func total(_ requests: UInt64, _ errors: UInt64 = 0) -> [String: RouteFacts.Bucket] {
        ["/": .init(requests: requests, errors: errors)]
    }

    private func at(_ seconds: UInt64) -> BootTime { BootTime(milliseconds: seconds * 1000) }

    @Test func `counts what came since the sample before`() {
        var history = TrafficHistory()
        history.sample(total(100, 5), at: at(1000))
        history.sample(total(103, 5), at: at(1004))
        history.sample(total(110, 7), at: at(1012))
        let buckets = history.buckets(of: "/")
        #expect(buckets.count == TrafficHistory.count)
        #expect(
            buckets.suffix(2) == [.init(requests: 3, errors: 0), .init(requests: 7, errors: 2)])
        #expect(buckets.dropLast(2).allSatisfy { $0.requests == 0 })
    }

    @Test func `leaves gaps where nobody looked, and forgets what is old`() {
        var history = TrafficHistory()
        history.sample(total(0), at: at(1000))
        history.sample(total(8), at: at(1001))
        history.sample(total(9), at: at(1031))
        #expect(history.buckets(of: "/").suffix(4).map(\.requests) == [8, 0, 0, 1])
        history.sample(total(9), at: at(100_000))
        #expect(history.buckets(of: "/").allSatisfy { $0.requests == 0 })
    }

    @Test func `takes counts that fell for a new beginning`() {
        var history = TrafficHistory()
        history.sample(total(50, 10), at: at(1000))
        history.sample(total(2, 1), at: at(1001))
        #expect(history.buckets(of: "/").last == .init(requests: 2, errors: 1))
    }

    @Test func `a clock that stands still or goes back costs nothing`() {
        var history = TrafficHistory()
        history.sample(total(1), at: at(1000))
        history.sample(total(4), at: at(500))
        #expect(history.buckets(of: "/").last?.requests == 3)
        #expect(history.buckets(of: "/other").count == TrafficHistory.count)
    }

    @Test func `a chart shows every request, however many others there are`() {
        let chart = Chart.html(
            [.init(requests: 1, errors: 1), .init(requests: 100_000, errors: 0)], seconds: 10)
        #expect(chart.matches(of: /<rect class="(?:ok|err)"/).count == 2)
        #expect(chart.contains("requests: 100,001, errors: 1, in the last 0 minutes"))
        #expect(!Chart.html([], seconds: 10).contains("class=\"ok\""))
    }
}
