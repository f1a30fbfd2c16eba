// How a command asks a credential's keeper beside a running proxy: with all keepers, since one credential
// may be made from another, and until nothing that was got can be lost any more.

import AuthCore
import Configuration
import Crossing
import Vocabulary

extension CredentialTools {
    /// What the keeper answers. A refresh that it began is finished and saved first.
    func ask<Answer: Sendable>(
        _ chosen: CredentialSettings, of settings: Settings, discovery: DiscoveryDesk? = nil,
        _ question: (CredentialKeeper) async throws(Refusal) -> Answer
    ) async throws(CommandFailure) -> Answer {
        let keepers = KeeperRoster.keepers(
            of: settings.credentials, discovery: discovery ?? DiscoveryDesk(in: surroundings),
            in: surroundings)
        guard let keeper = keepers.first(where: { $0.id == chosen.id }) else {
            preconditionFailure("the chosen credential is one of the settings'")
        }
        let result: Result<Answer, Refusal>
        do throws(Refusal) {
            result = .success(try await question(keeper))
        } catch {
            result = .failure(error)
        }
        for keeper in keepers { await keeper.finish() }
        switch result {
        case .success(let answer): return answer
        case .failure(let refusal): throw CommandFailure(refusal, chosen.id)
        }
    }
}

extension SignalWatch {
    /// Starts watching for a command that may refresh: what is under way is finished and saved before
    /// the first signal ends it. To be cancelled at the command's end.
    static func startFinishingRefresh(in world: World) -> Task<Void, Never> {
        let signals = start()
        return Task {
            for await _ in signals {
                world.console.note("finishing the refresh; a second signal ends it at once")
            }
        }
    }
}
