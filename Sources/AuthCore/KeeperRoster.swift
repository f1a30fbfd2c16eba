// The keepers of one process by name, for a credential that is made from another one's. It owns none
// of them.

import Synchronization
package import Vocabulary

package final class KeeperRoster: Sendable {
    private struct Entry: Sendable {
        weak var keeper: CredentialKeeper?
    }

    private let entries = Mutex<[CredentialID: Entry]>([:])

    package init() {}

    func add(_ keeper: CredentialKeeper) {
        let id = keeper.id
        let entry = Entry(keeper: keeper)
        entries.withLock { $0[id] = entry }
    }

    package func keeper(of id: CredentialID) -> CredentialKeeper? {
        entries.withLock { $0[id] }?.keeper
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
            roster.add(keeper)
            return keeper
        }
    }
}
