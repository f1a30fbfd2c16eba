// The newest requests of one worker, in memory that is allocated once: an old one is overwritten by the next.
// Of a path it keeps the beginning, and of a query nothing.

import Bytes
import Vocabulary

/// What is remembered of the last few requests.
struct RecentRing: ~Copyable {
    private struct Entry {
        var id: UInt64 = 0
        /// Wall clock, milliseconds.
        var endedAt: Int64 = 0
        var milliseconds: UInt64 = 0
        var row = 0
        var status = 0
        var ownCode: StaticString?
        var isCut = false
        var methodCount = 0
        var pathCount = 0
    }

    private static let methodBytesMax = 16
    private static let pathBytesMax = 176
    private static let textBytes = methodBytesMax + pathBytesMax

    private let entries: UnsafeMutablePointer<Entry>
    private let texts: UnsafeMutableRawPointer
    private var count = 0

    init() {
        entries = .allocate(capacity: TrafficReport.recentMax)
        entries.initialize(repeating: Entry(), count: TrafficReport.recentMax)
        texts = .allocate(byteCount: TrafficReport.recentMax * Self.textBytes, alignment: 16)
    }

    deinit {
        entries.deallocate()
        texts.deallocate()
    }

    mutating func add(_ record: borrowing RequestRecord, endedAt: Int64, milliseconds: UInt64) {
        let place = count % TrafficReport.recentMax
        count &+= 1
        let entry = entries + place
        entry.pointee.id = record.id
        entry.pointee.endedAt = endedAt
        entry.pointee.milliseconds = milliseconds
        entry.pointee.row = record.row
        entry.pointee.status = record.status
        entry.pointee.ownCode = record.ownCode
        entry.pointee.isCut = record.cut != .none
        let text = texts + place &* Self.textBytes
        entry.pointee.methodCount = Self.copy(record.methodText, Self.methodBytesMax, to: text)
        entry.pointee.pathCount = Self.copy(
            record.path, Self.pathBytesMax, to: text + Self.methodBytesMax)
    }

    private static func copy(
        _ bytes: UnsafeRawBufferPointer, _ max: Int, to target: UnsafeMutableRawPointer
    ) -> Int {
        let count = min(bytes.count, max)
        if count > 0, let source = bytes.baseAddress {
            target.copyMemory(from: source, byteCount: count)
        }
        return count
    }

    /// The newest first.
    ///
    /// - Parameter routes: their names by row.
    func report(_ routes: [String]) -> [RecentRequest] {
        let kept = min(count, TrafficReport.recentMax)
        return (0..<kept).map { age in
            let place = (count - 1 - age) % TrafficReport.recentMax
            let entry = entries[place]
            let text = texts + place * Self.textBytes
            let by: Answerer =
                if let code = entry.ownCode {
                    .proxy(code: code.description)
                } else {
                    entry.status == 0 ? .nobody : .upstream
                }
            return RecentRequest(
                id: RequestID(entry.id), endedAt: entry.endedAt, milliseconds: entry.milliseconds,
                method: Self.string(text, entry.methodCount),
                path: Self.string(text + Self.methodBytesMax, entry.pathCount),
                route: routes[entry.row], status: entry.status, answeredBy: by,
                isCut: entry.isCut)
        }
    }

    /// The parser lets printable ASCII through only; anything else would be shown as "?".
    private static func string(_ base: UnsafeRawPointer, _ count: Int) -> String {
        let bytes = UnsafeRawBufferPointer(start: base, count: count)
        return String(decoding: bytes.map { (0x21..<0x7F).contains($0) ? $0 : 0x3F }, as: UTF8.self)
    }
}
