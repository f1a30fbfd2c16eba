// What the threads of a script and of its test tell each other.

import Synchronization

/// A value that scripts and tests share.
final class SharedValue<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    init(_ value: Value) { storage = Mutex(value) }

    var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }

    @discardableResult
    func change<Result>(_ body: (inout Value) -> Result) -> Result where Result: Sendable {
        storage.withLock { value in body(&value) }
    }
}
