// Asks all workers what they have done and adds it up. One round of questions serves everybody who asked
// before it began; a worker that has ended is remembered by its last word, and one that does not answer in time
// by its answer before.

import Crossing
import Synchronization
import Vocabulary

/// The one who asks.
final class TrafficDesk: Sendable {
    private struct Asker {
        let round: UInt64
        let answer: CheckedContinuation<TrafficReport, Never>
    }

    private struct State {
        var mailboxes: [Mailbox<ToWorker>] = []
        /// By worker: its newest report, and the round that it belongs to.
        var reports: [TrafficReport] = []
        var rounds: [UInt64] = []
        /// Of the round that was begun last.
        var round: UInt64 = 0
        var askers: [Asker] = []
    }

    private let state = Mutex(State())

    /// A worker that is busy answers at the end of its turn.
    private static let patience = Duration.seconds(2)

    /// Before any worker starts.
    func connect(_ mailboxes: [Mailbox<ToWorker>]) {
        state.withLock { state in
            state.mailboxes = mailboxes
            state.reports = Array(repeating: TrafficReport(), count: mailboxes.count)
            state.rounds = Array(repeating: 0, count: mailboxes.count)
        }
    }

    /// All traffic up to some moment after the call.
    func report() async -> TrafficReport {
        await withCheckedContinuation { answer in
            let (round, mailboxes) = state.withLock { state in
                state.round += 1
                state.askers.append(Asker(round: state.round, answer: answer))
                return (state.round, state.mailboxes)
            }
            for mailbox in mailboxes { mailbox.post(.report(round: round)) }
            settle()
            Task {
                try? await Task.sleep(for: Self.patience)
                giveUp(round)
            }
        }
    }

    /// A worker's answer; on the worker's thread, so nothing is added up here.
    func take(_ report: TrafficReport, of worker: Int, round: UInt64) {
        state.withLock { state in
            state.reports[worker] = report
            state.rounds[worker] = round
        }
        settle()
    }

    private func settle() {
        let (askers, reports) = state.withLock { state in
            let answered = state.rounds.min() ?? .max
            let done = state.askers.filter { $0.round <= answered }
            state.askers.removeAll { $0.round <= answered }
            return (done, state.reports)
        }
        answer(askers, reports)
    }

    private func giveUp(_ round: UInt64) {
        let (askers, reports) = state.withLock { state in
            let late = state.askers.filter { $0.round <= round }
            state.askers.removeAll { $0.round <= round }
            return (late, state.reports)
        }
        answer(askers, reports)
    }

    private func answer(_ askers: [Asker], _ reports: [TrafficReport]) {
        guard !askers.isEmpty else { return }
        Task {
            var sum = TrafficReport()
            for report in reports { sum.add(report) }
            for asker in askers { asker.answer.resume(returning: sum) }
        }
    }
}
