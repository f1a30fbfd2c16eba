// The steps of the demo, in order: each sends a real request through the proxy and checks the answer,
// what the API saw and what the provider was asked. A step that is not as it should be ends the tour.

import AuthCore
import Bytes
import Configuration
import Demo
import TokenStore
import Vocabulary

/// One tour over one stage.
struct DemoTour: Sendable {
    private let stage: DemoStage
    private let isAutomatic: Bool
    private let world: World
    private let narrator: DemoNarrator

    init(_ stage: DemoStage, isAutomatic: Bool, in world: World) {
        self.stage = stage
        self.isAutomatic = isAutomatic
        self.world = world
        narrator = DemoNarrator(world.console)
    }

    func run() async throws(CommandFailure) {
        narrator.opening(of: stage)
        try await beforeLogin(1, "A request before anybody has logged in")
        try await logIn(2, "The login, once")
        try await afterLogin(3, "The same request again, still without a credential of its own")
        try await afterExpiry(4, "After the access token has expired")
        try await afterRevocation(5, "After the provider has revoked the access token, with a body")
        try await afterDeath(6, "After the refresh token has died as well")
        try await logIn(7, "Logging in again, as nothing else helps")
        try await afterLogin(8, "And everything works again")
        try settleAccounts()
    }

    // MARK: Steps

    private func beforeLogin(_ number: Int, _ title: String) async throws(CommandFailure) {
        narrator.heading(number, title)
        let response = try await get("/v1/me", expecting: 503)
        try expect(response, says: "login_required")
        try expect(stage.servers.seenRequests.isEmpty, "the API saw a request without a credential")
        narrator.remark("Nothing was sent to the API. The answer says what to do.")
    }

    private func logIn(_ number: Int, _ title: String) async throws(CommandFailure) {
        narrator.heading(number, title)
        narrator.command("proxy login --config \(stage.configurationFile)")
        let logins = stage.servers.counters.logins
        let desk = LoginDesk(
            stage.settings.credentials, person: .absent,
            discovery: DiscoveryDesk(in: stage.tools.surroundings), in: stage.tools.surroundings)
        let id = stage.settings.credentials[0].id
        do throws(LoginFailure) {
            if isAutomatic {
                try await logInAlone(id, at: desk)
            } else {
                _ = try await LoginConversation(.automatic).run(id, at: desk, in: world)
            }
        } catch {
            if case .failed = error.kind {
                throw CommandFailure(.failure, "login: \(error.message)")
            }
            throw CommandFailure(error)
        }
        try expect(
            stage.servers.counters.logins == logins + 1, "the provider counted no further login")
        narrator.remark(
            "The tokens are in the store, readable by you alone. The running proxy sees them.")
        try await pause(seconds: 1)
    }

    /// Plays the browser: opens the address and follows it back to the callback.
    private func logInAlone(
        _ id: CredentialID, at desk: LoginDesk
    ) async throws(LoginFailure) {
        let session = try await desk.begin(id, LoginOptions(.printURL))
        let result: Result<Login, LoginFailure>
        do throws(FetchError) {
            let page = try await stage.tools.surroundings.fetcher.fetch(
                OutboundRequest(.get, session.url))
            guard let target = page.field("Location") else { throw FetchError.notHTTP }
            _ = try await stage.tools.surroundings.fetcher.fetch(OutboundRequest(.get, target))
        } catch {
            await session.cancel()
        }
        do throws(LoginFailure) {
            result = .success(try await session.result())
        } catch {
            result = .failure(error)
        }
        await session.close()
        _ = try result.get()
        narrator.waiting("the demo has pressed \"Allow\" on the provider's page for you")
    }

    private func afterLogin(_ number: Int, _ title: String) async throws(CommandFailure) {
        narrator.heading(number, title)
        let before = stage.servers.seenRequests.count
        let response = try await get("/v1/me", expecting: 200)
        try expect(response, says: "Ada")
        // A request may be quicker than the proxy's look at the store; it is then sent again.
        try expectSeen([200], orAlso: [401, 200], since: before)
    }

    private func afterExpiry(_ number: Int, _ title: String) async throws(CommandFailure) {
        narrator.heading(number, title)
        let old = stage.servers.seenRequests.last?.tokenFingerprint
        narrator.waiting("waiting \(DemoStage.accessTokenSeconds + 1) seconds")
        try await pause(seconds: DemoStage.accessTokenSeconds + 1)
        let before = stage.servers.seenRequests.count
        _ = try await get("/v1/me", expecting: 200)
        try expectSeen([200], since: before)
        try expect(
            stage.servers.seenRequests.last?.tokenFingerprint != old, "the token was not renewed")
        narrator.remark(
            "The proxy had renewed it in time. No request waits for that while the old one is good."
        )
    }

    private func afterRevocation(_ number: Int, _ title: String) async throws(CommandFailure) {
        narrator.heading(number, title)
        narrator.command("curl -d 'remember the milk' \(stage.address)/v1/notes")
        stage.servers.revokeAccessTokens()
        var before = stage.servers.seenRequests.count
        try await sendNote()
        if stage.servers.seenRequests.count == before + 1 {
            // It was renewed between the revocation and the request, as it is every few seconds.
            stage.servers.revokeAccessTokens()
            before += 1
            try await sendNote()
        }
        try expectSeen([401, 201], since: before)
        narrator.remark(
            """
            The API said 401; the proxy got a fresh token and sent the request again, its body
            included. The client saw one answer.
            """)
    }

    private func sendNote() async throws(CommandFailure) {
        let response = try await send(
            OutboundRequest(
                .post, stage.address + "/v1/notes", body: SecretBytes("remember the milk")))
        try expect(response.status == 201, "the answer is \(response.status), not 201")
        try expect(response, says: "remember the milk")
    }

    private func afterDeath(_ number: Int, _ title: String) async throws(CommandFailure) {
        narrator.heading(number, title)
        stage.servers.killRefreshTokens()
        stage.servers.revokeAccessTokens()
        let before = stage.servers.seenRequests.count
        let response = try await get("/v1/me", expecting: 503)
        try expect(response, says: "login_required")
        // None at all when the token was just being renewed.
        try expectSeen([401], orAlso: [], since: before)
        narrator.remark("A person is needed, and the answer says so at once. Nothing hangs.")
    }

    private func settleAccounts() throws(CommandFailure) {
        let counters = stage.servers.counters
        let refreshes = counters.tokenRequests["refresh_token"] ?? 0
        try expect(counters.reusesDetected == 0, "a refresh token was used twice")
        try expect(refreshes >= 2, "there were \(refreshes) refreshes, not 2 at least")
        narrator.remark(
            "Together: \(counters.logins) logins, \(refreshes) refreshes, "
                + "\(counters.apiRequests) requests at the API, no refresh token used twice.")
    }

    private func pause(seconds: Int64) async throws(CommandFailure) {
        try? await Task.sleep(for: .seconds(seconds))
        guard !Task.isCancelled else { throw CommandFailure(.interrupted, []) }
    }

    // MARK: Requests

    private func get(
        _ path: String, expecting status: Int
    ) async throws(CommandFailure) -> InboundResponse {
        narrator.command("curl \(stage.address)\(path)")
        let response = try await send(OutboundRequest(.get, stage.address + path))
        try expect(response.status == status, "the answer is \(response.status), not \(status)")
        return response
    }

    private func send(_ request: OutboundRequest) async throws(CommandFailure) -> InboundResponse {
        guard !Task.isCancelled else { throw CommandFailure(.interrupted, []) }
        do throws(FetchError) {
            let response = try await stage.tools.surroundings.fetcher.fetch(request)
            narrator.answer(response)
            return response
        } catch {
            throw CommandFailure(.failure, "the request to the proxy failed: \(error)")
        }
    }

    // MARK: Expectations

    private func expect(
        _ isAsItShould: Bool, _ otherwise: @autoclosure () -> String
    ) throws(CommandFailure) {
        guard isAsItShould else {
            throw CommandFailure(
                .failure, "the demo saw something that should not be: \(otherwise())")
        }
    }

    private func expect(
        _ response: InboundResponse, says text: String
    ) throws(CommandFailure) {
        let body = response.body.withBytes { String(decoding: $0, as: UTF8.self) }
        try expect(body.contains(text), "the answer does not say \"\(text)\"")
    }

    /// What the API saw since then, each request with one Authorization field.
    private func expectSeen(
        _ statuses: [Int], orAlso others: [Int]? = nil, since count: Int
    ) throws(CommandFailure) {
        let seen = Array(stage.servers.seenRequests.dropFirst(count))
        narrator.seen(seen)
        try expect(
            [statuses, others].contains(seen.map(\.status)),
            "the API answered \(seen.map(\.status)), not \(statuses)")
        try expect(
            seen.allSatisfy { $0.authorizationCount == 1 },
            "a request had more or less than one Authorization field")
    }
}
