import StorageModel

/// Work on a connection for a caller who waits.
protocol DatabaseWork: AnyObject, Sendable {
    /// Runs the work and keeps the result. It may run again after a rollback.
    func run(on db: SQLSession) throws
    /// Resumes the caller with the kept result.
    func succeed()
    /// Resumes the caller with an error: nothing was stored.
    func fail(_ error: StorageError)
}

/// Work whose caller waits in a continuation.
///
/// `@unchecked`: only the queue of the work's connection touches `result`, until the caller is resumed; the rest never
/// changes.
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

    func run(on db: SQLSession) throws { result = try body(db) }

    func succeed() {
        guard let result else { return fail(StorageError(.unavailable, reason: "the work was never run")) }
        caller.resume(returning: .success(result))
    }

    func fail(_ error: StorageError) { caller.resume(returning: .failure(error)) }
}

/// A connection and the queue that all its work runs on.
protocol ConnectionExecutor: AnyObject, Sendable {
    /// Calls `body` on the executor's queue, with a function that runs a batch there and completes each work in it.
    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void)
}
