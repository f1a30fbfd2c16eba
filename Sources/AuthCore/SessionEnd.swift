// Sends one browser to the provider's log-out page, and waits for it to come back where the provider
// is told to send it back (OpenID Connect RP-Initiated Logout 1.0). The ID token that goes along is
// handed to that browser alone, by redirect: it is in no command line and on no terminal.

import Bytes
import LoopbackServer
import OAuth
import Synchronization
import TokenStore
import Vocabulary

/// Why no browser can be sent.
enum SessionEndError: Error {
    case request(AuthorizationRequestError)
    case server(ServerError)

    var message: String {
        switch self {
        case .request(let error): error.text
        case .server(.portInUse(let port)): "port \(port), where the browser comes back, is in use"
        case .server(.cannotListen(let code)): "cannot listen for the browser (error \(code))"
        }
    }
}

/// Waits from its start until a browser was there, the time is over or the task is cancelled.
actor SessionEnd {
    enum Result: Equatable, Sendable {
        /// The browser came back.
        case returned
        /// It was sent off, and nobody was asked to send it back.
        case sent
        case notOpened
        case notReturned
        case cancelled
    }

    /// What a person opens, on this machine; good once.
    nonisolated let url: String

    private let request: EndSessionRequest
    private let returnPath: String?
    private let startPath: String
    private let onEvent: @Sendable (LogoutEvent) -> Void
    private let time: any TimeSource
    private var server: HTTPServer?
    private var wasOpened = false
    private var outcome: Result?
    private var waiting: CheckedContinuation<Result, Never>?

    static func start(
        at endpoint: String, _ login: Login, _ settings: OAuthSettings,
        in surroundings: Surroundings, onEvent: @escaping @Sendable (LogoutEvent) -> Void
    ) throws(SessionEndError) -> SessionEnd {
        let visitors = Visitors()
        let server: HTTPServer
        do throws(ServerError) {
            server = try HTTPServer(port: settings.afterLogout?.port) { request in
                await visitors.end?.page(for: request) ?? CallbackPage.over.response
            }
        } catch {
            throw .server(error)
        }
        do throws(AuthorizationRequestError) {
            let request = try EndSessionRequest(
                endpoint: endpoint, hint: login.idToken, clientID: login.clientID,
                redirectURI: settings.afterLogout?.url(port: server.port),
                locales: settings.authorization.locales)
            let end = SessionEnd(
                request, returnPath: settings.afterLogout?.path, server, surroundings.time, onEvent)
            visitors.set(end)
            return end
        } catch {
            server.stop()
            throw .request(error)
        }
    }

    private init(
        _ request: EndSessionRequest, returnPath: String?, _ server: HTTPServer,
        _ time: any TimeSource, _ onEvent: @escaping @Sendable (LogoutEvent) -> Void
    ) {
        self.request = request
        self.returnPath = returnPath
        self.server = server
        self.time = time
        self.onEvent = onEvent
        startPath = "/log-out/" + Nonce.fresh()
        url = "http://127.0.0.1:\(server.port)\(startPath)"
    }

    /// Known before the server's first request could be one for it.
    private final class Visitors: Sendable {
        private let state = Mutex<SessionEnd?>(nil)

        func set(_ end: SessionEnd) { state.withLock { $0 = end } }
        var end: SessionEnd? { state.withLock { $0 } }
    }

    // MARK: The caller

    /// To be asked once.
    func result(timeoutMilliseconds: UInt64) async -> Result {
        let timer = Task {
            guard (try? await time.sleep(milliseconds: timeoutMilliseconds)) != nil else { return }
            finish(wasOpened ? .notReturned : .notOpened)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            if let outcome { return outcome }
            return await withCheckedContinuation { waiting = $0 }
        } onCancel: {
            Task { await self.finish(.cancelled) }
        }
    }

    /// Lets pages that are under way arrive, then frees the port.
    func close() async {
        finish(.cancelled)
        await server?.drain(milliseconds: 1000)
        server = nil
    }

    private func finish(_ result: Result) {
        guard outcome == nil else { return }
        outcome = result
        waiting?.resume(returning: result)
        waiting = nil
    }

    // MARK: The browser

    private func page(for visit: ServerRequest) -> ServerResponse {
        let isReturn = returnPath.map { visit.path.isIdentical(to: $0) } ?? false
        guard isReturn || visit.path.isIdentical(to: startPath) else {
            return CallbackPage.nothingHere.response
        }
        guard visit.method == "GET" else { return CallbackPage.wrongMethod.response }
        guard !visit.isLookingAhead else { return CallbackPage.tooEarly.response }
        return isReturn ? comeBack(visit.query ?? "") : sendOff()
    }

    /// Once: whoever else learns the address gets nothing.
    private func sendOff() -> ServerResponse {
        guard !wasOpened, outcome == nil else { return CallbackPage.over.response }
        wasOpened = true
        if request.state == nil { finish(.sent) }
        let target = request.url.withBytes { String(decoding: $0, as: UTF8.self) }
        return .redirect(to: target)
    }

    private func comeBack(_ query: String) -> ServerResponse {
        guard wasOpened, outcome == nil || outcome == .returned else {
            return CallbackPage.over.response
        }
        switch Array(query.utf8).withUnsafeBytes({ request.read(answer: $0) }) {
        case .good: break
        case .withoutState: onEvent(.stateMissing)
        case .otherState, .unreadable:
            onEvent(.ignoredAnswer)
            return CallbackPage.ignoredLogout.response
        }
        finish(.returned)
        return CallbackPage.loggedOut.response
    }
}
