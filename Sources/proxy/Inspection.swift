// The checks of `proxy check`, one after the other: each looks at one thing and says what it found.

import AuthCore
import Bytes
import Configuration
import OAuth
import Routing
import TokenStore
import Vocabulary

/// What one check found.
struct Finding: Sendable {
    enum Outcome: String, Sendable {
        case passed, doubtful, failed

        var label: String {
            switch self {
            case .passed: "ok  "
            case .doubtful: "note"
            case .failed: "FAIL"
            }
        }
    }

    let subject: String
    let outcome: Outcome
    let text: String
    var hint: String?

    init(_ subject: String, _ outcome: Outcome, _ text: String, hint: String? = nil) {
        self.subject = subject
        self.outcome = outcome
        self.text = text
        self.hint = hint
    }

    var document: JSONValue {
        [
            "subject": .string(subject), "outcome": .string(outcome.rawValue),
            "text": .string(text), "hint": hint.map { .string($0) } ?? .null,
        ]
    }
}

/// One configuration under inspection.
struct Inspection: Sendable {
    let settings: Settings
    let surroundings: AuthCore.Surroundings

    init(_ settings: Settings, _ surroundings: AuthCore.Surroundings) {
        self.settings = settings
        self.surroundings = surroundings
    }

    /// That it was loaded is the finding.
    var configuration: Finding {
        func count(_ number: Int, _ noun: String) -> String {
            "\(number) \(noun)\(number == 1 ? "" : "s")"
        }
        let listen = settings.listen.map(\.description).joined(separator: ", ")
        return Finding(
            "configuration", .passed,
            "\(settings.file ?? "from flags"): \(count(settings.routeSpecs.count, "route")), "
                + "\(count(settings.credentials.count, "credential")), listening on \(listen)")
    }

    // MARK: Offline

    func offline() async -> [Finding] {
        var findings: [Finding] = []
        for (owner, source) in settings.secretSources {
            findings.append(await secret(source, of: owner, isLocal: owner == nil))
        }
        for (owner, source) in settings.keySources {
            findings.append(await secret(source, of: owner, isKey: true))
        }
        if let key = await storeKeys() { findings.append(key) }
        return findings + certificates() + (await store())
    }

    private func secret(
        _ source: SecretSource, of owner: CredentialID?, isKey: Bool = false, isLocal: Bool = false
    ) async -> Finding {
        let subject = owner.map { "\(isKey ? "key" : "secret") of \"\($0)\"" } ?? "local secret"
        // Running a program could cost a person's attention.
        if case .command(let words) = source {
            guard let program = words.first else { return Finding(subject, .failed, "no program") }
            return Finding(subject, .passed, "\"\(program)\" is run when it is needed")
        }
        do throws(SecretError) {
            if isKey {
                _ = try await source.readWhole(in: surroundings)
            } else if let injection = injection(of: owner) {
                _ = try await source.readCredential(for: injection, in: surroundings)
            } else if isLocal {
                _ = try await settings.access.localSecret?.read(in: surroundings)
            } else {
                _ = try await source.read(in: surroundings)
            }
            return Finding(subject, .passed, "can be read")
        } catch {
            return Finding(subject, .failed, error.message)
        }
    }

    /// Of a credential that is such a secret itself; nil where a token is got with it.
    private func injection(of owner: CredentialID?) -> Injection? {
        guard let credential = settings.credentials.first(where: { $0.id == owner }),
            case .fixed = credential.kind
        else { return nil }
        return credential.injection
    }

    /// The store's keys, those from programs included: the store is looked into next, which needs
    /// them. Nil where all is well or there is none.
    private func storeKeys() async -> Finding? {
        for source in [settings.store.keys(in: surroundings)].flatMap({ [$0.sealing, $0.opening] })
        {
            guard let source else { continue }
            do throws(StoreKeyError) {
                _ = try await source()
            } catch {
                return Finding("key of the store", .failed, error.reason)
            }
        }
        return settings.store.secretSources.isEmpty
            ? nil : Finding("key of the store", .passed, "can be read")
    }

    /// Machines' tokens are kept there as well; without an OAuth client nothing is.
    private func store() async -> [Finding] {
        let store = surroundings.store
        let kept = settings.credentials.filter {
            if case .oauth = $0.kind { true } else { false }
        }
        var strangers: [Finding] = []
        do throws(StoreError) {
            for credential in kept {
                guard let found = try await store.load(credential.id),
                    case .oauth(let oauth) = credential.kind,
                    let foreign = found.foreign(to: oauth, credential.id, in: surroundings)
                else { continue }
                // A machine's token is used all the same, from memory.
                strangers.append(
                    Finding(
                        "login of \"\(credential.id)\"",
                        credential.isInteractive ? .failed : .doubtful, foreign.message,
                        hint: credential.isInteractive ? foreign.hint : foreign.advice))
            }
            if let first = kept.first {
                let held = try await store.lock(first.id, timeoutMilliseconds: 5000)
                defer { held.release() }
                try await held.reserve()
            }
            return strangers + [Finding("store", .passed, store.directory)]
        } catch {
            if case .readOnly = error {
                let what =
                    settings.credentials.contains(where: \.isInteractive) ? "logins" : "tokens"
                return strangers + [
                    Finding(
                        "store", .doubtful, "\(error.message); \(what) are kept in memory only",
                        hint: error.hint)
                ]
            }
            return strangers + [Finding("store", .failed, error.message, hint: error.hint)]
        }
    }

    // MARK: Online

    func online() async -> [Finding] {
        var findings: [Finding] = []
        let discovery = DiscoveryDesk(in: surroundings)
        for credential in settings.credentials {
            guard case .oauth(let oauth) = credential.kind else { continue }
            findings += await provider(oauth, of: credential.id, discovery)
        }
        var seen: Set<Origin> = []
        for route in settings.routeSpecs where seen.insert(route.upstream.origin).inserted {
            findings.append(await api(route.upstream.origin))
        }
        return findings
    }

    private func api(_ origin: Origin) async -> Finding {
        switch await answer("\(origin)/") {
        case .success: Finding("API \(origin)", .passed, "answers")
        case .failure(.responseTooLarge): Finding("API \(origin)", .passed, "answers")
        case .failure(let error): Finding("API \(origin)", .failed, error.words)
        }
    }

    func answer(_ url: String) async -> Result<InboundResponse, FetchError> {
        do throws(FetchError) {
            return .success(
                try await surroundings.fetcher.fetch(
                    OutboundRequest(.get, url, timeoutMilliseconds: 15_000)))
        } catch {
            return .failure(error)
        }
    }
}
