// What one worker counts: plain numbers in one run of memory, a row for each route. Only the worker's own
// thread touches it; what others see is a copy that the worker makes when it is asked.

import Vocabulary

/// The numbers of one worker.
struct Tally: ~Copyable {
    /// Places within a row.
    private enum Column {
        /// Answers of the upstream by class; the first place is for no answer at all.
        static let classes = 0
        static let replays = 6
        static let parked = 7
        static let requestBytes = 8
        static let responseBytes = 9
        static let cutByClient = 10
        static let cutByUpstream = 11
        static let durationSum = 12
        static let headSum = 13
        static let durations = 14
        static let heads = durations + bucketCount
        static let count = heads + bucketCount
    }

    /// As `Histogram` has them; a literal, since these are looked at for each request.
    private static let bucketCount = 16

    /// An answer of ours; rare enough to be looked up by its words.
    private struct OwnAnswer: Hashable {
        let row: Int
        let status: Int
        let code: String
    }

    private var cells: UnsafeMutablePointer<UInt64>
    /// The routes by row. The first is for requests without one; none is ever taken away.
    private(set) var names = [""]
    private var ownAnswers: [OwnAnswer: UInt64] = [:]
    private var begun: UInt64 = 0
    private var ended: UInt64 = 0
    private var nextID: UInt64
    var clients = ConnectionCount()
    var upstreams = ConnectionCount()

    /// - Parameter firstID: the first of the worker's request numbers.
    init(firstID: UInt64) {
        precondition(Self.bucketCount == Histogram.bounds.count + 1, "a row holds two histograms")
        nextID = firstID
        cells = .allocate(capacity: Column.count)
        cells.initialize(repeating: 0, count: Column.count)
    }

    deinit { cells.deallocate() }

    /// The rows of the routes of those names. A name that was there before goes on with its numbers.
    mutating func rows(for routes: [String]) -> [Int] {
        var places: [String: Int] = [:]
        for (row, name) in names.enumerated() { places[name] = row }
        let rows = routes.map { name in
            if let row = places[name] { return row }
            places[name] = names.count
            names.append(name)
            return names.count - 1
        }
        let count = names.count * Column.count
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
        larger.initialize(repeating: 0, count: count)
        let old = cellCount
        larger.update(from: cells, count: old)
        cells.deallocate()
        cells = larger
        cellCount = count
        return rows
    }

    private var cellCount = Column.count

    private func cell(_ row: Int, _ column: Int) -> UnsafeMutablePointer<UInt64> {
        cells + (row &* Column.count &+ column)
    }

    // MARK: Counting

    /// A request has begun; its number.
    mutating func begin() -> UInt64 {
        begun &+= 1
        nextID &+= 1
        return nextID
    }

    mutating func replayed(_ row: Int) { cell(row, Column.replays).pointee &+= 1 }

    mutating func parked(_ row: Int) { cell(row, Column.parked).pointee &+= 1 }

    /// A request has ended, whichever way.
    mutating func end(_ record: borrowing RequestRecord, now: UInt64) {
        ended &+= 1
        let row = record.row
        if let code = record.ownCode {
            let answer = OwnAnswer(row: row, status: record.status, code: code.description)
            ownAnswers[answer, default: 0] &+= 1
        } else {
            let statusClass = record.status < 600 ? record.status / 100 : 5
            cell(row, Column.classes &+ statusClass).pointee &+= 1
        }
        let duration = now &- record.startedAt
        cell(row, Column.durationSum).pointee &+= duration
        cell(row, Column.durations &+ Self.bucket(of: duration)).pointee &+= 1
        if record.headAt > 0 {
            let head = record.headAt &- record.sentAt
            cell(row, Column.headSum).pointee &+= head
            cell(row, Column.heads &+ Self.bucket(of: head)).pointee &+= 1
        }
        cell(row, Column.requestBytes).pointee &+= UInt64(record.bytesTaken)
        cell(row, Column.responseBytes).pointee &+= UInt64(record.bytesRelayed)
        switch record.cut {
        case .none: break
        case .byClient: cell(row, Column.cutByClient).pointee &+= 1
        case .byUpstream: cell(row, Column.cutByUpstream).pointee &+= 1
        }
    }

    @inline(__always)
    private static func bucket(of milliseconds: UInt64) -> Int {
        milliseconds <= Histogram.firstBound ? 0 : Histogram.bucket(of: milliseconds)
    }

    // MARK: Telling

    /// A copy of all that is counted here.
    func report() -> TrafficReport {
        var report = TrafficReport()
        report.workers = 1
        report.underWay = begun &- ended
        report.clients = clients
        report.upstreams = upstreams
        report.routes = names.indices.map { traffic($0) }
        for (answer, count) in ownAnswers {
            let key = RouteTraffic.Answer(
                by: .proxy(code: answer.code), statusClass: answer.status / 100)
            report.routes[answer.row].answers[key, default: 0] &+= count
        }
        return report
    }

    private func traffic(_ row: Int) -> RouteTraffic {
        var traffic = RouteTraffic(name: names[row])
        for statusClass in 0...5 {
            let count = cell(row, Column.classes + statusClass).pointee
            guard count > 0 else { continue }
            let by: Answerer = statusClass == 0 ? .nobody : .upstream
            traffic.answers[.init(by: by, statusClass: statusClass)] = count
        }
        traffic.replays = cell(row, Column.replays).pointee
        traffic.parked = cell(row, Column.parked).pointee
        traffic.requestBytes = cell(row, Column.requestBytes).pointee
        traffic.responseBytes = cell(row, Column.responseBytes).pointee
        traffic.cutByClient = cell(row, Column.cutByClient).pointee
        traffic.cutByUpstream = cell(row, Column.cutByUpstream).pointee
        traffic.duration = histogram(row, Column.durations, sum: Column.durationSum)
        traffic.upstreamHead = histogram(row, Column.heads, sum: Column.headSum)
        return traffic
    }

    private func histogram(_ row: Int, _ first: Int, sum: Int) -> Histogram {
        Histogram(
            counts: (0..<Self.bucketCount).map { cell(row, first + $0).pointee },
            sum: cell(row, sum).pointee)
    }
}
