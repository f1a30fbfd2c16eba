// Spans of time as people say them.

import Testing

@testable import proxy

@Suite struct `Duration text` {
    @Test(
        arguments: [
            (-5, "0s"), (0, "0s"), (1, "1s"), (59, "59s"), (60, "1m0s"), (298, "4m58s"),
            (3599, "59m59s"), (3600, "1h0m"), (3961, "1h6m"), (86_399, "23h59m"), (86_400, "1d0h"),
            (Int64.max, "106751991167300d15h"),
        ] as [(Int64, String)])
    func `names the two largest units`(seconds: Int64, text: String) {
        #expect(durationText(seconds: seconds) == text)
    }
}
