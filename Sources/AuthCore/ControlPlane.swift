// Serves the workers: a keeper for each credential, an answer for each need. What a keeper publishes
// goes to every worker; what a request waits for goes to the worker that asked.

import Bytes
package import Crossing
package import Vocabulary

/// All credentials of one process.
package actor ControlPlane {
    private let credentials: [CredentialSettings]
    private let surroundings: Surroundings
    private let desk: LoginDesk
    private let discovery: DiscoveryDesk
    /// What upstreams said against credentials.
    package nonisolated let challenges: ChallengeBook

    /// - Parameter credentials: numbered by their place, as the workers' slots are.
    package init(
        _ credentials: [CredentialSettings], person: PersonPresence, in surroundings: Surroundings
    ) {
        self.credentials = credentials
        self.surroundings = surroundings
        discovery = DiscoveryDesk(in: surroundings)
        challenges = ChallengeBook(in: surroundings)
        desk = LoginDesk(
            credentials, person: person, discovery: discovery, in: surroundings)
    }

    /// Works until the stream of messages ends or the task is cancelled; returns when no login can
    /// be lost any more. Dial requests in the stream are passed over: the dialler has its own.
    package func run(
        messages: AsyncStream<ToControl>, workers: [Mailbox<ToWorker>]
    ) async {
        let roster = KeeperRoster()
        let keepers = credentials.enumerated().map { index, settings in
            let slot = CredentialSlot(index)
            return CredentialKeeper(
                settings, discovery: discovery, desk: desk, roster: roster, in: surroundings
            ) { generation, credential in
                let update =
                    credential?.update(slot, settings.injection)
                    ?? CredentialUpdate(
                        slot: slot, generation: generation, line: nil, usableUntil: nil)
                for worker in workers { worker.post(.credential(update)) }
            }
        }
        for keeper in keepers { roster.add(keeper) }
        await withDiscardingTaskGroup { group in
            for keeper in keepers { group.addTask { await keeper.run() } }
            for await message in messages {
                if case .challenged(let slot, _, let facts) = message,
                    credentials.indices.contains(slot.index)
                {
                    let credential = credentials[slot.index]
                    // Requests that wait do not wait for a note to be written.
                    Task {
                        await challenges.note(facts, of: credential.id)
                        // An API that refuses what its provider gave may have another one now (RFC
                        // 9728 section 5.1).
                        if facts.isAfterRenewal, case .oauth(let oauth) = credential.kind,
                            case .discovered(let resource, _) = oauth.endpoints
                        {
                            await discovery.rereadResource(
                                resource, metadataURL: facts.resourceMetadata)
                        }
                    }
                }
                guard case .need(let slot, let newerThan, let worker) = message,
                    keepers.indices.contains(slot.index), workers.indices.contains(worker)
                else { continue }
                let keeper = keepers[slot.index]
                let injection = credentials[slot.index].injection
                // No child of this group: it may wait for a person, and the end waits for nobody.
                Task {
                    let answer = await keeper.answer(slot, injection, newerThan: newerThan)
                    workers[worker].post(answer)
                }
            }
            group.cancelAll()
        }
        await desk.close()
        for keeper in keepers { await keeper.finish() }
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
        case .fixed(let secret): source = FixedSource(secret, in: surroundings)
        case .command(let arguments, let lifetime):
            source = ProgramSource(arguments, lifetimeSeconds: lifetime, in: surroundings)
        }
        self.init(
            settings.id, source: source, desk: desk, policy: policy, in: surroundings,
            publish: publish)
    }
}
