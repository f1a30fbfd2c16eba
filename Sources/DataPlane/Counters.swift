// What one worker counts. Only its own thread touches it.

struct Counters {
    var requests: UInt64 = 0
    var ownReplies: UInt64 = 0
    var replays: UInt64 = 0
    /// Relayed final responses by class; the first counts agreed upgrades.
    private(set) var byClass: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

    mutating func count(_ status: Int) {
        switch status {
        case ..<200: byClass.0 &+= 1
        case 200..<300: byClass.1 &+= 1
        case 300..<400: byClass.2 &+= 1
        case 400..<500: byClass.3 &+= 1
        default: byClass.4 &+= 1
        }
    }
}
