import Testing
import Vocabulary

@testable import OAuth

@Suite struct `Retry-After` {
    private let now = WallTime(seconds: 784_111_777 - 10)

    @Test(
        arguments: [
            ("0", 0), ("30", 30), ("3601", 3600), ("99999999999999999999999", 3600),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 10), ("Sunday, 06-Nov-94 08:49:37 GMT", 10),
            ("Sun Nov  6 08:49:37 1994", 10), ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ] as [(String, Int64)])
    func `is seconds or a date`(value: String, seconds: Int64) {
        #expect(RetryAfter.seconds(value, now: now) == seconds)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nix 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Tue, 29 Feb 2023 00:00:00 GMT",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nov 0000 08:49:37 GMT", "Sun Nov  6 08:49:37 94",
    ])
    func `is nothing else`(value: String) {
        #expect(RetryAfter.seconds(value, now: now) == nil)
    }
}

@Suite struct `HTTP date` {
    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
            ("Monday, 01-Jan-24 00:00:00 GMT", 1_704_067_200),
            ("Friday, 01-Jan-99 00:00:00 GMT", 915_148_800),
        ] as [(String, Int64)])
    func `is read`(text: String, seconds: Int64) {
        #expect(HTTPDate.read(text, now: testNow)?.seconds == seconds)
    }

    @Test func `counts every day of four centuries`() {
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        var expected: Int64 = 0
        for year in 1970..<2370 {
            for (month, name) in months.enumerated() {
                let isLeap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0
                let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
                for day in 1...days {
                    let text = "Sun, \(day < 10 ? "0" : "")\(day) \(name) \(year) 00:00:00 GMT"
                    if HTTPDate.read(text, now: testNow)?.seconds != expected {
                        Issue.record("\(text)")
                        return
                    }
                    expected += 86_400
                }
            }
        }
    }
}
