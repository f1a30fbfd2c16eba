// What can go wrong between an origin's name and a connected socket. Fetch says it, workers turn it
// into an answer.

/// Why a connection could not be dialled.
package enum DialFailure: Error, Hashable, Sendable {
    case nameNotResolved
    /// The name led to addresses that it may not lead to, and to no other.
    case addressNotAllowed
    case refused
    case timedOut
    case forwardProxy(String)
    case other(String)
}
