// How a worker goes from one configuration to the next: the table at once, listeners by difference, and no
// request that has begun is touched.

import Diagnostics
import Reactor
import Routing

/// What the workers go by. Immutable; a newer one replaces it whole.
struct WorkerPlan: Sendable {
    /// Counts the configurations of a process.
    let number: Int
    let table: RouteTable
    let settings: WorkerSettings
    let listeners: [DataListener]
}

extension Worker {
    /// Takes up the newest configuration, unless that was done already.
    func reconfigure() {
        defer { board.noteAdopted() }
        let plan = board.newest
        guard plan.number > planNumber, !isDraining else { return }
        planNumber = plan.number
        adopt(plan.settings)
        install(plan.table)
        let leaving = gates.filter { gate in
            !plan.listeners.contains { $0.identifier == gate.identifier }
        }
        var next: [Gate] = []
        for listener in plan.listeners {
            if let gate = gates.first(where: { $0.identifier == listener.identifier }) {
                gate.rules.replace(by: listener, installed)
                next.append(gate)
                continue
            }
            do throws(ReactorError) {
                next.append(try open(listener))
            } catch {
                log.error(
                    "a worker cannot listen", ("address", .text(listener.socket.address)),
                    ("reason", .text(error.reason)))
            }
        }
        // After the new ones: where both have the same socket nobody is left unheard between them.
        gates = next
        for gate in leaving {
            gate.close()
            gate.rules.retire()
        }
        if !leaving.isEmpty { letGo { $0.rules.isRetired } }
    }
}
