// How far this machine's clock is from the provider's, by the Date of its answers (RFC 9110 section
// 6.6.1). It is told and warned of; no expiry is ever corrected by it.

import OAuth
import Synchronization
import Vocabulary

/// Our clock less theirs, in seconds, when an answer came.
struct ClockDifference: Hashable, Sendable {
    let seconds: Int64
    let at: WallTime

    /// A clock that is further off makes tokens look fresh that are dead; what is less may be the
    /// answer's way.
    static let secondsMax: Int64 = 60

    var isLarge: Bool { abs(seconds) > Self.secondsMax }
}

/// Performs requests, and remembers what the answers say of the time.
final class ClockWatch: Fetching {
    private let fetcher: any Fetching
    private let time: any TimeSource
    private let seen = Mutex<ClockDifference?>(nil)

    init(_ fetcher: any Fetching, _ time: any TimeSource) {
        self.fetcher = fetcher
        self.time = time
    }

    var difference: ClockDifference? { seen.withLock { $0 } }

    func fetch(_ request: OutboundRequest) async throws(FetchError) -> InboundResponse {
        let response = try await fetcher.fetch(request)
        let now = time.wallTime()
        if let date = response.field("date").flatMap({ HTTPDate.read($0, now: now) }) {
            seen.withLock { $0 = ClockDifference(seconds: now.seconds - date.seconds, at: now) }
        }
        return response
    }
}
