// Reads Retry-After and the three forms of an HTTP date (RFC 9110 sections 10.2.3 and 5.6.7). Dates
// that name no day, or a day that does not exist, are nothing.

package import Vocabulary

package enum RetryAfter {
    /// No server may hold us off for longer.
    package static let secondsMax: Int64 = 3600

    /// Seconds from now, 0...secondsMax; nil when the value is neither a number nor a date.
    package static func seconds(_ value: String, now: WallTime) -> Int64? {
        if !value.isEmpty, value.utf8.allSatisfy({ $0 &- 0x30 < 10 }) {
            return min(Int64(value) ?? secondsMax, secondsMax)
        }
        guard let date = HTTPDate.read(value, now: now) else { return nil }
        let (delta, overflow) = date.seconds.subtractingReportingOverflow(now.seconds)
        return overflow ? nil : min(max(delta, 0), secondsMax)
    }
}

package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// - Parameter now: decides the century of the obsolete two-digit years: a date that seems more
    ///   than 50 years ahead is in the past.
    package static func read(_ text: String, now: WallTime) -> WallTime? {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
        switch words.count {
        case 6 where words[5] == "GMT":
            // "Sun, 06 Nov 1994 08:49:37 GMT" and "Sunday, 06-Nov-94 08:49:37 GMT"
            guard let day = number(words[1], 2), let year = year(words[3], now: now) else {
                return nil
            }
            return time(year: year, month: words[2], day: day, clock: words[4])
        case 5:
            // "Sun Nov  6 08:49:37 1994"
            guard let day = number(words[2], 1) ?? number(words[2], 2),
                let year = number(words[4], 4)
            else { return nil }
            return time(year: year, month: words[1], day: day, clock: words[3])
        default:
            return nil
        }
    }

    private static func year(_ text: String, now: WallTime) -> Int64? {
        if let year = number(text, 4) { return year }
        guard let short = number(text, 2) else { return nil }
        let current = 1970 + now.seconds / 31_556_952
        let year = current - current % 100 + short
        return year > current + 50 ? year - 100 : year
    }

    private static func time(year: Int64, month: String, day: Int64, clock: String) -> WallTime? {
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard let index = months.firstIndex(of: month), parts.count == 3,
            let hour = number(parts[0], 2), let minute = number(parts[1], 2),
            let second = number(parts[2], 2), hour < 24, minute < 60, second <= 60
        else { return nil }
        let month = Int64(index) + 1
        guard (1601...9999).contains(year), day >= 1, day <= days(in: month, of: year) else {
            return nil
        }
        let days = daysSince1970(year: year, month: month, day: day)
        return WallTime(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Counts in years that begin with March, so that the leap day is the last.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func number(_ text: some StringProtocol, _ digits: Int) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
            return nil
        }
        return Int64(text)
    }
}
