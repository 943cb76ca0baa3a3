import StorageModel

/// Something to be done on a connection for a caller who waits.
protocol DatabaseWork: AnyObject, Sendable {
    /// Does it and keeps the result. It may be done again, after what it did has been rolled back.
    func run(on db: SQLSession) throws
    /// Gives the kept result to the caller.
    func succeed()
    /// Tells the caller that nothing was done.
    func fail(_ error: StorageError)
}

/// Work whose caller waits in a continuation.
///
/// `@unchecked`: `result` is touched only on the queue of the connection that the work was given to, which has it from
/// the start to the resumption; the rest never changes.
final class AwaitedWork<Success: Sendable>: DatabaseWork, @unchecked Sendable {
    private let body: @Sendable (SQLSession) throws -> Success
    private let caller: CheckedContinuation<Result<Success, StorageError>, Never>
    private var result: Success?

    init(
        for caller: CheckedContinuation<Result<Success, StorageError>, Never>,
        _ body: @escaping @Sendable (SQLSession) throws -> Success
    ) {
        self.caller = caller
        self.body = body
    }

    func run(on db: SQLSession) throws {
        result = try body(db)
    }

    func succeed() {
        guard let result else { return fail(StorageError(.unavailable, reason: "the work was never run")) }
        caller.resume(returning: .success(result))
    }

    func fail(_ error: StorageError) {
        caller.resume(returning: .failure(error))
    }
}
