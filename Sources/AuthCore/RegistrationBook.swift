// The clients that providers registered us as: one for each server and callback, kept beside the
// logins, made by whichever process needs it first. Without it every start would leave another client
// behind at the provider, and old refresh tokens would belong to nobody.

import Bytes
import Diagnostics
import OAuth
import TokenStore
import Vocabulary

/// Registers, and remembers.
actor RegistrationBook {
    /// What a registration is for: another server or another callback is another client.
    struct Subject: Hashable, Sendable {
        /// The issuer, or the origin where there is none.
        let server: String
        /// The callback without its port.
        let callback: String
        /// The callbacks to register, the wanted one first.
        let redirectURIs: [String]

        fileprivate var noteName: String {
            FileLoginStore.noteName("client", of: server + "\n" + callback)
        }
    }

    private static let version: Int64 = 1
    private let surroundings: Surroundings
    /// Those that no file could take.
    private var unwritten: [Subject: RegisteredClient] = [:]

    init(in surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    /// The client that is known there; nil where there is none, or none that can still be used.
    func known(_ subject: Subject) async throws(DiscoveryError) -> RegisteredClient? {
        do throws(StoreError) {
            return try await found(subject)
        } catch {
            // What cannot be read is no client any more; the next registration sets it aside.
            if case .damaged = error { return nil }
            throw .store(error)
        }
    }

    private func found(_ subject: Subject) async throws(StoreError) -> RegisteredClient? {
        if let client = unwritten[subject] { return client }
        let note = try await surroundings.store.secretNote(subject.noteName)
        return note.flatMap { read($0, of: subject) }
    }

    /// The client that is known there, or a new one. One process registers; others wait for it.
    func client(
        _ subject: Subject,
        registering request: @Sendable () async throws(DiscoveryError) -> RegistrationRequest
    ) async throws(DiscoveryError) -> RegisteredClient {
        if let client = try await known(subject), isUsable(client) { return client }
        let lock: NoteLock
        do throws(StoreError) {
            lock = try await surroundings.store.lockNote(subject.noteName)
        } catch {
            throw .store(error)
        }
        defer { lock.release() }
        do throws(StoreError) {
            if let client = try await found(subject), isUsable(client) { return client }
        } catch {
            guard case .damaged = error else { throw .store(error) }
            try await setAside(subject, error)
        }
        let client = try await register(try await request())
        await keep(client, of: subject)
        return client
    }

    private func setAside(
        _ subject: Subject, _ damage: StoreError
    ) async throws(DiscoveryError) {
        surroundings.log.warning(
            "a registered client cannot be read; it is set aside, and another one registered",
            ("reason", .text(damage.message)))
        do throws(StoreError) {
            try await surroundings.store.setAsideSecretNote(subject.noteName)
        } catch {
            throw .store(error)
        }
    }

    /// Forgets a client that the server knows no more.
    func forget(_ subject: Subject, _ clientID: String) async {
        if unwritten[subject]?.clientID.isIdentical(to: clientID) ?? false {
            unwritten[subject] = nil
        }
        do throws(StoreError) {
            let lock = try await surroundings.store.lockNote(subject.noteName)
            defer { lock.release() }
            // Somebody may have registered anew in the meantime.
            guard let client = try await found(subject),
                client.clientID.isIdentical(to: clientID)
            else { return }
            try await surroundings.store.removeSecretNote(subject.noteName)
        } catch {
            // What cannot be read is in nobody's way.
            if case .damaged = error { return }
            surroundings.log.warning(
                "a registered client could not be forgotten", ("reason", .text(error.message)))
        }
    }

    func isUsable(_ client: RegisteredClient) -> Bool {
        client.isUsable(at: surroundings.time.wallTime())
    }

    // MARK: At the server

    private func register(
        _ request: RegistrationRequest
    ) async throws(DiscoveryError) -> RegisteredClient {
        let response: InboundResponse
        do throws(FetchError) {
            response = try await surroundings.fetcher.fetch(request.outbound)
        } catch {
            throw .unreachable(url: request.endpoint, reason: error.words)
        }
        do throws(RegistrationError) {
            let client = try RegisteredClient.read(
                response, to: request, now: surroundings.time.wallTime())
            surroundings.log.info(
                "registered a client at the provider", ("endpoint", .text(request.endpoint)),
                ("client", .text(client.clientID)))
            return client
        } catch {
            if case .unavailable(let status, _) = error {
                throw .unreachable(url: request.endpoint, reason: "status \(status)")
            }
            throw .registration(error)
        }
    }

    // MARK: On disk

    private func read(_ note: JSONValue, of subject: Subject) -> RegisteredClient? {
        guard let note = note.asObject, note["version"]?.asNumber?.asInteger == Self.version,
            note["server"]?.asRevealedString?.isIdentical(to: subject.server) ?? false,
            note["callback"]?.asRevealedString?.isIdentical(to: subject.callback) ?? false,
            let answer = note["answer"]?.asObject,
            let asked = note["redirect_uris"]?.asArray?.compactMap(\.asRevealedString)
        else { return nil }
        return try? RegisteredClient(document: answer, asked: asked)
    }

    /// A client that cannot be written down is good for this process; the next registers anew.
    private func keep(_ client: RegisteredClient, of subject: Subject) async {
        do throws(StoreError) {
            try await surroundings.store.saveSecretNote(
                subject.noteName,
                [
                    "version": .number(JSONNumber(Self.version)),
                    "server": .string(subject.server), "callback": .string(subject.callback),
                    "redirect_uris": .array(client.redirectURIs.map { .string($0) }),
                    "registered_at": .number(
                        JSONNumber(surroundings.time.wallTime().seconds)),
                    "answer": .object(client.document),
                ])
            unwritten[subject] = nil
        } catch {
            unwritten[subject] = client
            surroundings.log.warning(
                "a registered client could not be written down; the next start registers another",
                ("reason", .text(error.message)))
        }
    }
}
