// The keepers of one process by name, for a credential that is made from another one's. It owns none
// of them.

import Synchronization
import TokenStore
package import Vocabulary

package final class KeeperRoster: Sendable {
    private struct Entry: Sendable {
        weak var keeper: CredentialKeeper?
        let settings: CredentialSettings?
    }

    private let entries = Mutex<[CredentialID: Entry]>([:])

    package init() {}

    /// - Parameter settings: what it is the keeper of.
    func add(_ keeper: CredentialKeeper, of settings: CredentialSettings? = nil) {
        let id = keeper.id
        let entry = Entry(keeper: keeper, settings: settings)
        entries.withLock { $0[id] = entry }
    }

    package func keeper(of id: CredentialID) -> CredentialKeeper? {
        entries.withLock { $0[id] }?.keeper
    }

    /// The login that a keeper goes by, as it is on disk; nil for another configuration's.
    func login(of id: CredentialID, in store: FileLoginStore) async -> Login? {
        let login = (try? await store.load(id)) ?? nil
        guard case .oauth(let settings) = entries.withLock({ $0[id] })?.settings?.kind,
            login?.purpose == nil
        else { return login }
        return login.flatMap { $0.belongs(to: settings) ? $0 : nil }
    }

    /// The keepers of all credentials, in order, which know of each other.
    package static func keepers(
        of credentials: [CredentialSettings], discovery: DiscoveryDesk, desk: LoginDesk? = nil,
        in surroundings: Surroundings
    ) -> [CredentialKeeper] {
        let roster = KeeperRoster()
        return credentials.map { settings in
            let keeper = CredentialKeeper(
                settings, discovery: discovery, desk: desk, roster: roster, in: surroundings)
            roster.add(keeper, of: settings)
            return keeper
        }
    }
}
