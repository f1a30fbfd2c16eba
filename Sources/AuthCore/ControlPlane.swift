// Serves the workers: a keeper for each credential, an answer for each need. What a keeper publishes
// goes to every worker; what a request waits for goes to the worker that asked.

import Bytes
package import Crossing
import Diagnostics
import Synchronization
package import Vocabulary

/// All credentials of one process.
package actor ControlPlane {
    /// One credential, from the configuration that brought it until nobody can ask for it any more.
    private struct Place {
        let settings: CredentialSettings
        let keeper: CredentialKeeper
        /// Keeps it fresh; then, once it is retired, ends it.
        var work: Task<Void, Never>?
    }

    /// By slot. A slot is never given to another credential: a request that began under an earlier
    /// configuration cannot meet what was not meant for it. Nil where a credential has gone.
    private var places: [Place?] = []
    /// The slots of the credentials of the configuration, in its order.
    private var current: [CredentialSlot] = []
    private let surroundings: Surroundings
    /// Starts logins, for traffic and for whoever asks.
    package nonisolated let desk: LoginDesk
    package nonisolated let discovery: DiscoveryDesk
    /// The keepers by name.
    package nonisolated let roster = KeeperRoster()
    private let outbox = Outbox()
    private var isRunning = false
    /// What upstreams said against credentials.
    package nonisolated let challenges: ChallengeBook

    /// For how long requests that began with a credential may still ask for it once it was removed.
    private static let retirementMilliseconds: UInt64 = 600_000

    /// - Parameter credentials: they get the slots from 0 up, by their place.
    package init(
        _ credentials: [CredentialSettings], person: PersonPresence, in surroundings: Surroundings
    ) {
        self.surroundings = surroundings
        discovery = DiscoveryDesk(in: surroundings)
        challenges = ChallengeBook(in: surroundings)
        desk = LoginDesk(
            credentials, person: person, discovery: discovery, in: surroundings)
        for (index, settings) in credentials.enumerated() {
            let slot = CredentialSlot(index)
            let keeper = Self.keeper(
                slot, settings, discovery, desk, roster, outbox, in: surroundings)
            roster.add(keeper, of: settings)
            places.append(Place(settings: settings, keeper: keeper))
            current.append(slot)
        }
    }

    /// Works until the stream of messages ends or the task is cancelled; returns when no login can
    /// be lost any more. Dial requests in the stream are passed over: the dialler has its own.
    package func run(
        messages: AsyncStream<ToControl>, workers: [Mailbox<ToWorker>]
    ) async {
        outbox.open(workers)
        isRunning = true
        for index in places.indices { startWork(CredentialSlot(index)) }
        for await message in messages {
            switch message {
            case .challenged(let slot, let generation, let facts):
                note(facts, against: slot, generation)
            case .need(let slot, let newerThan, let worker):
                if workers.indices.contains(worker) {
                    answer(slot, newerThan: newerThan, to: workers[worker])
                }
            case .dial, .reported, .stopped: break
            }
        }
        isRunning = false
        let last = places.compactMap { $0 }
        for place in last { place.work?.cancel() }
        await desk.close()
        for place in last {
            await place.work?.value
            await place.keeper.finish()
        }
    }

    private func answer(
        _ slot: CredentialSlot, newerThan: Generation, to worker: Mailbox<ToWorker>
    ) {
        guard let place = place(slot) else {
            return worker.post(.refused(slot, newerThan: newerThan, Self.removed))
        }
        // No child of this task: it may wait for a person, and the end waits for nobody.
        Task {
            worker.post(
                await place.keeper.answer(slot, place.settings.injection, newerThan: newerThan))
        }
    }

    private func note(
        _ facts: ChallengeFacts, against slot: CredentialSlot, _ generation: Generation
    ) {
        guard let place = place(slot) else { return }
        let credential = place.settings
        // Requests that wait do not wait for a note to be written.
        Task {
            if facts.isAfterRenewal { await place.keeper.wasRefusedOnArrival(generation) }
            if facts.wantsLogin { await place.keeper.loginIsWanted(insteadOf: generation) }
            await challenges.note(facts, of: credential.id)
            // An API that refuses what its provider gave may have another one now (RFC 9728
            // section 5.1).
            if facts.isAfterRenewal, case .oauth(let oauth) = credential.kind,
                case .discovered(let resource, _) = oauth.endpoints
            {
                await discovery.rereadResource(resource, metadataURL: facts.resourceMetadata)
            }
        }
    }

    private func place(_ slot: CredentialSlot) -> Place? {
        places.indices.contains(slot.index) ? places[slot.index] : nil
    }

    // MARK: Another configuration

    /// Goes on with these credentials. One that is as it was keeps its slot, its token, its keeper and
    /// what that is at; one that was changed begins anew in a slot of its own; one that has gone ends
    /// once its refresh under way is saved, and is there for a while for requests that began with it.
    ///
    /// - Returns: their slots, in their order.
    package func replace(_ credentials: [CredentialSettings]) async -> [CredentialSlot] {
        await desk.replace(credentials)
        let before = current
        current = credentials.map { settings in
            before.first { place($0)?.settings == settings } ?? add(settings)
        }
        for slot in before where !current.contains(slot) { retire(slot) }
        return current
    }

    private func add(_ settings: CredentialSettings) -> CredentialSlot {
        let slot = CredentialSlot(places.count)
        let keeper = Self.keeper(slot, settings, discovery, desk, roster, outbox, in: surroundings)
        roster.add(keeper, of: settings)
        places.append(Place(settings: settings, keeper: keeper))
        if isRunning { startWork(slot) }
        return slot
    }

    private func startWork(_ slot: CredentialSlot) {
        guard let keeper = place(slot)?.keeper else { return }
        places[slot.index]?.work = Task { await keeper.run() }
    }

    private func retire(_ slot: CredentialSlot) {
        guard let place = place(slot) else { return }
        place.work?.cancel()
        surroundings.log.info(
            "a credential is not in the configuration any more",
            ("credential", .text(place.settings.id.name)))
        places[slot.index]?.work = Task {
            await place.work?.value
            await place.keeper.finish()
            let pause = Self.retirementMilliseconds
            guard (try? await surroundings.time.sleep(milliseconds: pause)) != nil else { return }
            forget(slot)
        }
    }

    private func forget(_ slot: CredentialSlot) {
        places[slot.index] = nil
        outbox.post(
            .credential(
                CredentialUpdate(
                    slot: slot, generation: Generation(.max), line: nil, usableUntil: nil)))
    }

    private static let removed = Refusal.credentialUnavailable(
        hint: "the configuration does not have this credential any more")

    // MARK: Keepers

    private static func keeper(
        _ slot: CredentialSlot, _ settings: CredentialSettings, _ discovery: DiscoveryDesk,
        _ desk: LoginDesk, _ roster: KeeperRoster, _ outbox: Outbox,
        in surroundings: Surroundings
    ) -> CredentialKeeper {
        CredentialKeeper(
            settings, discovery: discovery, desk: desk, roster: roster, in: surroundings
        ) { generation, credential in
            let update =
                credential?.update(slot, settings.injection)
                ?? CredentialUpdate(
                    slot: slot, generation: generation, line: nil, usableUntil: nil)
            outbox.post(.credential(update))
        }
    }
}

/// The workers' mailboxes, once there are workers.
private final class Outbox: Sendable {
    private let workers = Mutex<[Mailbox<ToWorker>]>([])

    func open(_ workers: [Mailbox<ToWorker>]) { self.workers.withLock { $0 = workers } }

    func post(_ message: ToWorker) {
        for worker in workers.withLock({ $0 }) { worker.post(message) }
    }
}

extension CredentialKeeper {
    fileprivate func answer(
        _ slot: CredentialSlot, _ injection: Injection, newerThan: Generation
    ) async -> ToWorker {
        do throws(Refusal) {
            return .credential(try await credential(newerThan: newerThan).update(slot, injection))
        } catch {
            return .refused(slot, newerThan: newerThan, error)
        }
    }
}

extension CredentialKeeper {
    /// The keeper of a configured credential.
    ///
    /// - Parameters:
    ///   - desk: nil where no login may be started, as in a command.
    ///   - roster: knows the keepers of credentials that this one may be made from.
    package init(
        _ settings: CredentialSettings, discovery: DiscoveryDesk, desk: LoginDesk?,
        roster: KeeperRoster = KeeperRoster(), in surroundings: Surroundings,
        publish: @escaping @Sendable (Generation, Credential?) -> Void = { _, _ in }
    ) {
        var policy = Policy()
        let source: any CredentialSource
        switch settings.kind {
        case .oauth(let oauth):
            policy.leadSeconds = oauth.refreshLeadSeconds
            policy.loginWaitMilliseconds = oauth.loginWaitMilliseconds
            if let grant = oauth.machineGrant(roster: roster, in: surroundings) {
                source = MachineSource(
                    settings.id, oauth, grant, discovery: discovery, in: surroundings)
            } else {
                source = OAuthSource(
                    settings.id, oauth, discovery: discovery, in: surroundings)
            }
        case .fixed(let secret):
            source = FixedSource(secret, for: settings.injection, in: surroundings)
        case .command(let arguments, let lifetime):
            source = ProgramSource(
                arguments, lifetimeSeconds: lifetime, for: settings.injection, in: surroundings)
        }
        self.init(
            settings.id, source: source, desk: desk, policy: policy, in: surroundings,
            publish: publish)
    }
}
