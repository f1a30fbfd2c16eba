// The trait of all suites here: bodies block in system calls, on threads of their own, and only so many
// at once that deadlines keep their meaning on a small machine.

import Support
import Synchronization
import Testing

/// Runs each test of a suite on a thread of its own.
struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Places.shared.take()
        defer { Places.shared.giveBack() }
        try await withTaskExecutorPreference(OwnThreadExecutor.shared) { try await function() }
    }
}

extension Trait where Self == OwnThreadTrait {
    static var ownThread: Self { OwnThreadTrait() }
}

/// How many tests run at once.
private final class Places: Sendable {
    static let shared = Places(count: 6)

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(count: Int) { state = Mutex(State(free: count)) }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func giveBack() {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeFirst()
        }?.resume()
    }
}
