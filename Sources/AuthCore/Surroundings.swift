// What this room needs of the outside, handed in once: the store, the network, the clocks, chance and
// a place for log lines. Nothing here reads the process's own environment.

package import Diagnostics
import Synchronization
package import TokenStore
package import Vocabulary

/// The world of a control plane or of one command.
package struct Surroundings: Sendable {
    package var store: FileLoginStore
    package var fetcher: any Fetching
    package var time: any TimeSource
    package var log: Log
    /// Where what is done is counted.
    package let tally = AuthTally()
    /// What could not be written of that, for this process's own eyes.
    let unwrittenNotes = UnwrittenNotes()
    /// The process's environment, as programs that are started inherit it.
    package var environment: [String: String]
    /// Variables that hold secrets; no program that is started ever sees them.
    package let hiddenVariables: HiddenVariables
    /// What a person pastes into a shell in order to log in.
    package var loginCommand: @Sendable (CredentialID) -> String
    /// A fresh number in 0..<1 on each call.
    package var chance: @Sendable () -> Double

    package init(
        store: FileLoginStore, fetcher: any Fetching, time: any TimeSource = SystemTime(), log: Log,
        environment: [String: String] = [:], secretVariables: Set<String> = [],
        loginCommand: @escaping @Sendable (CredentialID) -> String = { "proxy login \($0)" },
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.store = store
        self.fetcher = fetcher
        self.time = time
        self.log = log
        self.environment = environment
        hiddenVariables = HiddenVariables(secretVariables)
        self.loginCommand = loginCommand
        self.chance = chance
    }

    /// The environment of programs that are started.
    var cleanEnvironment: [String: String] {
        hiddenVariables.removed(from: environment)
    }
}

/// Names of variables, shared by all who start programs: another configuration may hide more of them.
package final class HiddenVariables: Sendable {
    private let names: Mutex<Set<String>>

    init(_ names: Set<String>) { self.names = Mutex(names) }

    /// What was hidden before stays so: its secret may still be in use.
    package func hide(_ more: Set<String>) { names.withLock { $0.formUnion(more) } }

    func removed(from environment: [String: String]) -> [String: String] {
        let names = names.withLock { $0 }
        return environment.filter { !names.contains($0.key) }
    }
}
