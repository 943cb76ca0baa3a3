import Synchronization

/// Runs one operation per key at a time. Callers that need a key whose operation is under way share its value.
///
/// The operation runs in its own task: cancelling one caller takes nothing from the others, and the operation goes
/// on after the last caller has gone.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let inFlight = Mutex<[Key: Task<Value, Never>]>([:])

    package init() {}

    /// The value of the operation under way for the key, or of a new one.
    ///
    /// - Parameters:
    ///   - decided: Answers in place of a new operation. It is told how many operations are under way, and runs under
    ///     the lock, when the key has none: a result that an operation left before it ended is visible to it, so a
    ///     caller that just missed that operation need not begin another. It must not use this object.
    ///   - operation: Leaves what others should find before it returns.
    package func value(
        for key: Key, unless decided: (_ inFlight: Int) -> Value? = { _ in nil },
        _ operation: @escaping @Sendable () async -> Value
    ) async -> Value {
        let step = inFlight.withLock { inFlight -> Step in
            if let task = inFlight[key] { return .wait(task) }
            if let value = decided(inFlight.count) { return .done(value) }
            let task = Task {
                let value = await operation()
                self.inFlight.withLock { $0[key] = nil }
                return value
            }
            inFlight[key] = task
            return .wait(task)
        }
        switch step {
        case .done(let value): return value
        case .wait(let task): return await task.value
        }
    }

    private enum Step {
        case done(Value)
        case wait(Task<Value, Never>)
    }

    package func isInFlight(_ key: Key) -> Bool { inFlight.withLock { $0[key] != nil } }
}
