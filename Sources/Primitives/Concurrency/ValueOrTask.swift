/// A value that is there at once, or what a task has to do for it.
///
/// Most requests of signed-in users are responded to from memory. A task for each would cost as much as a third of the
/// rest, so functions that seldom wait return this, and only ``task(_:)`` needs one.
@frozen
public enum ValueOrTask<Value: Sendable>: Sendable {
    case value(Value)
    /// To be run once.
    case task(@Sendable () async throws -> Value)

    /// The value, after the work that is needed for it.
    @inlinable
    public func run() async throws -> Value {
        switch self {
        case .value(let value): value
        case .task(let work): try await work()
        }
    }
}
