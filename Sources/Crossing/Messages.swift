// Everything that the two planes say to each other. Values only; no behaviour.

package import Bytes
package import Vocabulary

/// Control plane to one worker.
package enum ToWorker: Sendable {
    /// Go on with the configuration that the data plane's own side holds ready, from the next request on;
    /// requests under way end under the one they began with.
    case reconfigure
    /// A credential was made or replaced.
    case credential(CredentialUpdate)
    /// No credential newer than `newerThan` is to be had; whoever waits for one is told why.
    case refused(CredentialSlot, newerThan: Generation, Refusal)
    /// The socket is connected, non-blocking and the worker's own from here on.
    case dialled(Ticket, Result<Int32, DialFailure>)
    /// Finish what runs, start nothing; close what is left at the deadline.
    case drain(until: BootTime)
    case stop
    /// Say what has been done so far; answered by `reported` with the same number.
    case report(round: UInt64)
}

/// One worker to the control plane.
package enum ToControl: Sendable {
    /// A request waits for a credential newer than the named generation. Asked once per credential
    /// and generation by each worker, answered by `credential` or `refused`.
    case need(CredentialSlot, newerThan: Generation, worker: Int)
    case dial(DialTarget, Ticket)
    /// An upstream refused a request that carried that credential, and said why. Each worker says the
    /// same at most once a minute and no more than a few a second.
    case challenged(CredentialSlot, Generation, ChallengeFacts)
    /// What it has done so far: when asked, and a last time before `stopped`, for the round `.max`.
    case reported(worker: Int, round: UInt64, TrafficReport)
    case stopped(worker: Int)
}

/// Names something that waits in a worker; one that has gone in the meantime is not found again.
package struct Ticket: Hashable, Sendable {
    package let worker: Int
    package let slot: UInt32
    package let turn: UInt32

    package init(worker: Int, slot: UInt32, turn: UInt32) {
        self.worker = worker
        self.slot = slot
        self.turn = turn
    }
}

/// A credential ready to be copied.
package struct CredentialUpdate: Sendable {
    /// What requests with it are signed with (RFC 9449): a proof goes with each.
    package struct Binding: Sendable {
        /// A private key, as its maker stores it.
        package let key: SecretBytes
        /// `ath`.
        package let accessTokenHash: [UInt8]

        package init(key: SecretBytes, accessTokenHash: [UInt8]) {
            self.key = key
            self.accessTokenHash = accessTokenHash
        }
    }

    package let slot: CredentialSlot
    package let generation: Generation
    /// The whole field line with its CR LF: `Authorization: Bearer …`. Nil when the credential was
    /// removed (a logout).
    package let line: SecretBytes?
    /// Not to be sent from then on; nil where the lifetime is unknown.
    package let usableUntil: BootTime?
    /// Nil for a credential that is sent as it is.
    package let binding: Binding?

    package init(
        slot: CredentialSlot, generation: Generation, line: SecretBytes?, usableUntil: BootTime?,
        binding: Binding? = nil
    ) {
        self.slot = slot
        self.generation = generation
        self.line = line
        self.usableUntil = usableUntil
        self.binding = binding
    }
}

/// Why a request gets an answer of ours instead of the upstream's.
package enum Refusal: Error, Hashable, Sendable {
    /// A person must log in. `command` can be pasted; the URL is there when a login is pending, and so
    /// is the code where one is to be typed at that URL.
    case loginRequired(
        url: String?, userCode: String? = nil, command: String, retryAfterSeconds: Int)
    /// The person or the provider said no.
    case loginDenied(command: String)
    /// The token endpoint cannot be reached or is failing; the login is kept.
    case tokenEndpointUnreachable(retryAfterSeconds: Int)
    /// The provider refuses this client as it is configured; it is asked again, for a secret that is being
    /// rotated is wrong for a while.
    case credentialMisconfigured(hint: String, retryAfterSeconds: Int)
    /// A token file, variable or command has nothing to give.
    case credentialUnavailable(hint: String)
}
