// One answer that several may give: the first counts, the others are dropped. Nobody who gives one is
// stopped.

import Synchronization
import Vocabulary

final class FirstAnswer<Answer: Sendable>: Sendable {
    private enum State {
        case open(CheckedContinuation<Answer, Never>?)
        case given(Answer)
        case taken
    }

    private let state = Mutex(State.open(nil))

    /// Whether it was the first.
    @discardableResult
    func give(_ answer: Answer) -> Bool {
        let (isFirst, waiting) = state.withLock {
            state -> (Bool, CheckedContinuation<Answer, Never>?) in
            guard case .open(let waiting) = state else { return (false, nil) }
            state = waiting == nil ? .given(answer) : .taken
            return (true, waiting)
        }
        waiting?.resume(returning: answer)
        return isFirst
    }

    /// To be asked once.
    func value() async -> Answer {
        await withCheckedContinuation { waiting in
            let known = state.withLock { state -> Answer? in
                if case .given(let answer) = state {
                    state = .taken
                    return answer
                }
                state = .open(waiting)
                return nil
            }
            if let known { waiting.resume(returning: known) }
        }
    }
}

/// What the work gives, or nil when the time is over; the work goes on in either case.
func answer<Value: Sendable>(
    within milliseconds: UInt64, by time: any TimeSource,
    of work: @escaping @Sendable () async -> Value
) async -> Value? {
    let first = FirstAnswer<Value?>()
    let timer = Task {
        guard (try? await time.sleep(milliseconds: milliseconds)) != nil else { return }
        first.give(nil)
    }
    Task {
        first.give(await work())
        timer.cancel()
    }
    return await first.value()
}
