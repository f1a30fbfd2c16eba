// What the keeper asks of the login desk: that somebody logs in, once for all who wait.

import Crossing
import Synchronization
import TokenStore
import Vocabulary

/// Who can get a person to log in.
protocol LoginDemanding: Sendable {
    /// Starts a login for traffic, or points at the one that is pending. Never waits for the person.
    func demand(_ id: CredentialID) async -> LoginDemand

    /// There is a login again; one that is pending for traffic is not needed any more.
    func dismiss(_ id: CredentialID) async
}

enum LoginDemand: Sendable {
    /// How soon asking again is worth while for somebody who was turned away.
    static let retryAfterSeconds = 10

    /// A person is at it: waiting is worth while.
    case pending(PendingLogin)
    /// - Parameter login: one that nobody is known to be at, and that may succeed all the same.
    case refused(Refusal, pending: PendingLogin? = nil)

    /// The one that may come of it.
    var login: PendingLogin? {
        switch self {
        case .pending(let login): login
        case .refused(_, let login): login
        }
    }
}

enum LoginOutcome: Sendable {
    /// - Parameter unsaved: the login, where the store could not take it.
    case loggedIn(unsaved: Login?)
    case failed(Refusal)
}

/// A login that has been started; any number of tasks may wait for its end.
final class PendingLogin: Sendable {
    private struct State {
        var url: String
        var outcome: LoginOutcome?
        var waiting: [CheckedContinuation<LoginOutcome, Never>] = []
    }

    /// Tells two logins of one credential apart.
    let number: UInt64
    /// What is typed at `url`, where anything is.
    let userCode: String?
    private let state: Mutex<State>

    init(number: UInt64, url: String, userCode: String? = nil) {
        self.number = number
        self.userCode = userCode
        state = Mutex(State(url: url))
    }

    /// What a person opens to take part.
    var url: String {
        get { state.withLock { $0.url } }
        set { state.withLock { $0.url = newValue } }
    }

    func outcome() async -> LoginOutcome {
        await withCheckedContinuation { waiting in
            let known = state.withLock { state -> LoginOutcome? in
                if state.outcome == nil { state.waiting.append(waiting) }
                return state.outcome
            }
            if let known { waiting.resume(returning: known) }
        }
    }

    /// The first outcome counts.
    func end(_ outcome: LoginOutcome) {
        let waiting = state.withLock { state -> [CheckedContinuation<LoginOutcome, Never>] in
            guard state.outcome == nil else { return [] }
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }
}
