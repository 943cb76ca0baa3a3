package import Primitives
package import StorageModel

/// Work on a connection for a caller who waits.
package protocol DatabaseWork: AnyObject, Sendable {
    /// What is locked before it runs.
    var locks: [WriteLock] { get }
    /// Its part of a statement that it can share with others; nil if it can share none.
    var shared: (any SharedStatement)? { get }
    /// Runs the work and keeps the result. It may run again after a rollback.
    func run(on db: SQLSession) throws
    /// Resumes the caller with the kept result.
    func succeed()
    /// Resumes the caller with an error. Nothing was stored, unless the error's reason says that this is unknown.
    func fail(_ error: StorageError)
}

/// A work's part of a statement that PostgreSQL may run for several works of a batch, before them.
package protocol SharedStatement: AnyObject, Sendable {}

/// - Note: `@unchecked`: only the worker of the connection uses it, until the caller is resumed.
package final class StatementPart<Input: Sendable, Output>: SharedStatement, @unchecked Sendable {
    package let input: Input
    /// Nil if its work has to run by itself.
    package var output: Output?

    init(_ input: Input) { self.input = input }
}

/// A sign-in; nil inside if it is refused.
package typealias BatchedSignIn = StatementPart<SignInRecord, SignedInUser?>
/// A look-up of an earlier sign-in by its key, if it has not ended at a time.
package typealias BatchedRecall = StatementPart<(key: [UInt8], now: Timestamp), RecentSignIn?>

extension Sequence<any DatabaseWork> {
    /// Runs each work, and resumes its caller.
    package func complete(_ run: (any DatabaseWork) throws -> Void) {
        for work in self {
            do {
                try run(work)
                work.succeed()
            } catch {
                work.fail(StorageError(error))
            }
        }
    }
}

/// Work whose caller waits in a continuation.
///
/// Its result is in closures, and not in a generic class: the queue calls it without knowing its type, and would run
/// the methods of such a class unspecialised.
///
/// `@unchecked`: only the worker of the work's connection calls the closures, until the caller is resumed.
final class AwaitedWork: DatabaseWork, @unchecked Sendable {
    let locks: [WriteLock]
    let shared: (any SharedStatement)?
    private let body: (SQLSession) throws -> Void
    private let resume: (StorageError?) -> Void

    init<Success: Sendable>(
        for caller: CheckedContinuation<Result<Success, StorageError>, Never>, locking locks: [WriteLock],
        sharing shared: (any SharedStatement)?, _ body: @escaping @Sendable (SQLSession) throws -> Success
    ) {
        var result: Success?
        self.locks = locks
        self.shared = shared
        self.body = { db in result = try body(db) }
        resume = { error in
            if let error { return caller.resume(returning: .failure(error)) }
            guard let result else {
                return caller.resume(
                    returning: .failure(StorageError(.unavailable, reason: "the work was never run")))
            }
            caller.resume(returning: .success(result))
        }
    }

    func run(on db: SQLSession) throws { try body(db) }

    func succeed() { resume(nil) }

    func fail(_ error: StorageError) { resume(error) }
}
