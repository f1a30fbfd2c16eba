// A login as a command takes part in it: its own attempt, or the one that a running proxy has open.

import Bytes
package import OAuth
package import TokenStore
import Vocabulary

/// Holds the lock that keeps a second `proxy login` out, until `close`.
package struct LoginSession: Sendable {
    private enum Kind: Sendable {
        case own(any LoginUnderWay)
        case shared(SharedLogin)
    }

    /// To be opened by a person.
    package let url: String
    /// What is typed there, in a flow that ends on another device.
    package let device: DevicePrompt?
    /// The address is good for one use until then; nil where it does not lapse.
    private let urlUntil: BootTime?
    private let kind: Kind
    private let lock: LoginLock

    init(own attempt: any LoginUnderWay, lock: LoginLock) {
        url = attempt.url
        device = attempt.device
        urlUntil = attempt.urlUntil
        kind = .own(attempt)
        self.lock = lock
    }

    init(
        shared url: String, _ id: CredentialID, since stamp: FileStamp?,
        timeoutMilliseconds: UInt64, lock: LoginLock, in surroundings: Surroundings
    ) {
        self.url = url
        device = nil
        urlUntil = nil
        kind = .shared(
            SharedLogin(
                id: id, stamp: stamp, timeoutMilliseconds: timeoutMilliseconds,
                surroundings: surroundings))
        self.lock = lock
    }

    func secondsLeft(_ now: BootTime) -> Int64? {
        urlUntil.map { Int64(($0.milliseconds - min(now.milliseconds, $0.milliseconds)) / 1000) }
    }

    /// The login as it was stored, or why there is none.
    package func result() async throws(LoginFailure) -> Login {
        switch kind {
        case .own(let attempt): try await attempt.result()
        case .shared(let login): try await login.result()
        }
    }

    /// Takes the URL that a person copied from the browser. After an error that does not end the
    /// login, one may paste again; its end is `result`'s to tell.
    package func paste(_ text: String) async throws(CallbackError) {
        switch kind {
        case .own(let attempt): try await attempt.paste(text)
        case .shared(let login): try await login.paste(text)
        }
    }

    /// An address that can be opened now, by whoever opens it a second time.
    package func freshURL() async -> String {
        switch kind {
        case .own(let attempt): await attempt.freshURL()
        case .shared: url
        }
    }

    /// Ends it, as Ctrl-C does: `result` throws `cancelled` unless there is one already.
    package func cancel() async {
        if case .own(let attempt) = kind { await attempt.cancel() }
    }

    /// Lets pages that are under way arrive, frees the port and the lock.
    package func close() async {
        if case .own(let attempt) = kind { await attempt.close() }
        lock.release()
    }
}

/// Somebody else's attempt, whose end shows in the store.
private struct SharedLogin: Sendable {
    let id: CredentialID
    let stamp: FileStamp?
    let timeoutMilliseconds: UInt64
    let surroundings: Surroundings

    private static let intervalMilliseconds: UInt64 = 250

    func result() async throws(LoginFailure) -> Login {
        let deadline = surroundings.time.bootTime().advanced(byMilliseconds: timeoutMilliseconds)
        while surroundings.time.bootTime() < deadline {
            if await surroundings.store.stamp(id) != stamp, let login = try await loaded(),
                login.rejection == nil
            {
                return login
            }
            do {
                try await surroundings.time.sleep(milliseconds: Self.intervalMilliseconds)
            } catch {
                throw .cancelled
            }
        }
        throw .timedOut(seconds: Int(timeoutMilliseconds / 1000))
    }

    private func loaded() async throws(LoginFailure) -> Login? {
        do throws(StoreError) {
            return try await surroundings.store.load(id)
        } catch {
            throw .store(error)
        }
    }

    /// Hands it to the listener that waits for it, whose checks are the ones that count.
    func paste(_ text: String) async throws(CallbackError) {
        let text = text.filter { !$0.isWhitespace }
        guard let url = try? WebURL(text), url.origin.scheme == .http, url.origin.isLoopback else {
            throw .otherRedirect
        }
        guard let answer = try? await surroundings.fetcher.fetch(OutboundRequest(.get, text)),
            answer.status == 200
        else { throw .stateMismatch }
    }
}
