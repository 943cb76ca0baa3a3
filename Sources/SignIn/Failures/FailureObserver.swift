package import OpenIDConnect
package import Primitives

/// Called with an operation that failed, its error, and what providers sent. The response waits until it returns.
package typealias FailureObserver = @Sendable (FailedOperation, SignInError, ProtocolRecord) async -> Void

/// What every use case does for the observers of failures. Without one nothing is recorded.
extension [FailureObserver] {
    /// Runs an operation with a record of what providers send. If the operation fails, it calls the observers.
    ///
    /// An operation within another one adds to the outer one's record. Only one of the two may report a failure.
    /// - Parameters:
    ///   - correlationID: Is in the error; nil for an operation that names none.
    ///   - sentNames: As in ``SignInError/with(_:_:)``.
    ///   - failed: Called with the failure, whether or not there is an observer. Returns what the operation was about;
    ///     nil for a failure that no observer gets.
    package func recording<Value>(
        as correlationID: CorrelationID? = nil, _ sentNames: [String: String] = [:],
        _ operation: () async throws(SignInError) -> Value, failed: (SignInError) -> FailedOperation?
    ) async throws(SignInError) -> Value {
        let outer = ProtocolRecord.current
        let record = isEmpty ? nil : outer ?? ProtocolRecord()
        do throws(SignInError) {
            guard let record, outer == nil else { return try await operation() }
            return try await ProtocolRecord.$current.withValue(record) { () async -> Result<Value, SignInError> in
                do throws(SignInError) { return .success(try await operation()) } catch { return .failure(error) }
            }.get()
        } catch {
            if let operation = failed(error), let record { await tell(operation, error, record) }
            throw correlationID.map { error.with($0, sentNames) } ?? error
        }
    }

    /// Calls the observers with a failure that ends its operation with a value. The operation is a recorded one.
    package func note(_ operation: @autoclosure () -> FailedOperation?, _ error: SignInError) async {
        guard !isEmpty, let record = ProtocolRecord.current, let operation = operation() else { return }
        await tell(operation, error, record)
    }

    private func tell(_ operation: FailedOperation, _ error: SignInError, _ record: ProtocolRecord) async {
        for observer in self { await observer(operation, error, record) }
    }
}
