// Every limit and every duration of a worker, by name. The Configuration room has the defaults that a
// user can change; what stands here is what a worker does when nothing else is said.

import HTTP2Wire
import HTTPWire
import Reactor
package import Vocabulary

/// Which requests get a line in the log.
package enum LoggedRequests: Sendable {
    case none
    /// Those that ended with a status from 400 up, or not at all.
    case failed
    case all
}

/// What one worker allows and for how long it waits. Durations are in milliseconds, 0 means for ever.
package struct WorkerSettings: Sendable {
    package var headBytesMax = 64 * 1024
    package var fieldsMax = 128
    /// Responses may be larger: cookies set by the dozen are common. All interim heads before a response may
    /// have as much again.
    package var responseHeadBytesMax = 512 * 1024
    /// What an interim head counts at the least: frames of its own cost more than a few bytes of text.
    static let interimBytesMin = 256
    package var responseFieldsMax = 256
    /// A request body up to this is kept so that it can be sent again.
    package var replayBytesMax = 1 << 20
    /// All kept bodies of one worker together.
    package var replayTotalBytesMax = 64 << 20
    package var clientsMax = 16_384
    /// Requests that one HTTP/2 client may have under way.
    package var clientStreamsMax = 128
    package var parkedMax = 1024
    /// Requests whose connection is being made. A crowd that arrives at once must find room.
    package var dialsMax = 4096
    package var idlePerUpstreamMax = 256
    /// HTTP/2 connections to one upstream; each carries as many requests as the upstream allows.
    package var sharedPerUpstreamMax = 8

    package var clientHead: UInt64 = 10_000
    package var clientIdle: UInt64 = 75_000
    /// Between two pieces of a request's body.
    package var clientBody: UInt64 = 300_000
    /// Dialling; then once more for the TLS handshake.
    package var connect: UInt64 = 10_000
    /// From the last byte of the request sent to the head of the response; and how long an upstream may take
    /// nothing of a request that waits for it. A client that is slow to send its request uses none of it.
    package var response: UInt64 = 300_000
    package var upstreamIdle: UInt64 = 55_000
    /// After so long without a byte of a shared connection a new request has it asked for a sign of life, for which
    /// it has as long again.
    package var upstreamSilence: UInt64 = 15_000
    /// An older connection is not used again, so that a change of the upstream's address is noticed.
    package var upstreamAge: UInt64 = 600_000
    /// How long a request waits for a credential at the most; the control plane usually answers first.
    package var credentialWait: UInt64 = 150_000
    /// How long a client that expects a 100 waits for the upstream's before it gets ours. Shorter than
    /// clients wait by themselves (curl: a second), long enough for an upstream that means to refuse.
    package var expectContinue: UInt64 = 300
    /// How long an idle connection stays when the worker drains: a request that was on its way is still
    /// answered then, and in HTTP/2 a client hears of the end before the end.
    package var lastRequest: UInt64 = 500
    /// How long a closed connection's peer may take to close its side, from the last bytes that it sends on; and
    /// in all.
    package var linger: UInt64 = 2000
    package var lingerTotal: UInt64 = 30_000
    /// Between two bytes of a tunnel, either way.
    package var tunnelIdle: UInt64 = 0
    /// The same once one side has ended.
    package var tunnelHalfClosed: UInt64 = 60_000
    /// Whether new connections are accepted while draining, for an application that shuts down beside us.
    package var acceptsWhileDraining = false
    package var loggedRequests = LoggedRequests.none
    /// The clock that goes on while the machine sleeps.
    package var bootTime: @Sendable () -> BootTime = { SystemTime.bootTime() }

    package init() {}

    var requestLimits: HeadLimits { HeadLimits(headBytesMax: headBytesMax, fieldsMax: fieldsMax) }

    var clientSessionLimits: SessionLimits {
        var limits = SessionLimits()
        limits.streamsMax = clientStreamsMax
        limits.head = requestLimits
        return limits
    }

    var upstreamSessionLimits: SessionLimits {
        var limits = SessionLimits()
        limits.streamsMax = 1024
        limits.streamWindow = 256 * 1024
        limits.connectionWindow = 16 << 20
        limits.head = responseLimits
        return limits
    }

    var responseLimits: HeadLimits {
        HeadLimits(headBytesMax: responseHeadBytesMax, fieldsMax: responseFieldsMax)
    }
}

// Computed, since a constant would be made once and looked for each time.
extension DeadlineKind {
    static var clientHead: DeadlineKind { DeadlineKind(0) }
    static var clientIdle: DeadlineKind { DeadlineKind(1) }
    static var linger: DeadlineKind { DeadlineKind(2) }
    static var credentialWait: DeadlineKind { DeadlineKind(3) }
    static var expectContinue: DeadlineKind { DeadlineKind(4) }
    static var handshake: DeadlineKind { DeadlineKind(5) }
    static var response: DeadlineKind { DeadlineKind(6) }
    static var upstreamIdle: DeadlineKind { DeadlineKind(7) }
    static var tunnelIdle: DeadlineKind { DeadlineKind(8) }
    static var tunnelHalfClosed: DeadlineKind { DeadlineKind(9) }
    static var clientHandshake: DeadlineKind { DeadlineKind(10) }
    static var lastRequest: DeadlineKind { DeadlineKind(11) }
    static var upstreamProbe: DeadlineKind { DeadlineKind(12) }
    static var clientBody: DeadlineKind { DeadlineKind(13) }
    static var streamWait: DeadlineKind { DeadlineKind(15) }
}

extension EventLoop {
    func setDurations(_ settings: WorkerSettings) {
        setDuration(.clientHead, milliseconds: settings.clientHead)
        setDuration(.clientIdle, milliseconds: settings.clientIdle)
        setDuration(.clientBody, milliseconds: settings.clientBody)
        setDuration(.linger, milliseconds: settings.linger)
        setDuration(.credentialWait, milliseconds: settings.credentialWait)
        setDuration(.expectContinue, milliseconds: settings.expectContinue)
        setDuration(.handshake, milliseconds: settings.connect)
        setDuration(.response, milliseconds: settings.response)
        setDuration(.upstreamIdle, milliseconds: settings.upstreamIdle)
        setDuration(.upstreamProbe, milliseconds: settings.upstreamSilence)
        setDuration(.clientHandshake, milliseconds: settings.clientHead)
        setDuration(.lastRequest, milliseconds: settings.lastRequest)
        setDuration(.tunnelIdle, milliseconds: settings.tunnelIdle)
        setDuration(.tunnelHalfClosed, milliseconds: settings.tunnelHalfClosed)
        // A connection is dialled and secured in twice that; then a stream has to become free.
        setDuration(.streamWait, milliseconds: settings.connect * 3)
    }
}
