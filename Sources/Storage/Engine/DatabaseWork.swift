package import StorageModel

/// Work on a connection for a caller who waits.
package protocol DatabaseWork: AnyObject, Sendable {
    /// What is locked before it runs.
    var locks: [WriteLock] { get }
    /// What it stores, if it is a sign-in that can share its statements.
    var signIn: BatchedSignIn? { get }
    /// Runs the work and keeps the result. It may run again after a rollback.
    func run(on db: SQLSession) throws
    /// Resumes the caller with the kept result.
    func succeed()
    /// Resumes the caller with an error. Nothing was stored, unless the error's reason says that this is unknown.
    func fail(_ error: StorageError)
}

/// A sign-in that PostgreSQL may run together with the others of its transaction, before their works.
///
/// `@unchecked`: only the worker of the connection uses it, until the caller is resumed.
package final class BatchedSignIn: @unchecked Sendable {
    package let record: SignInRecord
    /// Nil if its work has to run it by itself; nil inside for a refused sign-in.
    package var result: SignedInUser??

    init(_ record: SignInRecord) { self.record = record }
}

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
    let signIn: BatchedSignIn?
    private let body: (SQLSession) throws -> Void
    private let resume: (StorageError?) -> Void

    init<Success: Sendable>(
        for caller: CheckedContinuation<Result<Success, StorageError>, Never>, locking locks: [WriteLock],
        sharing signIn: BatchedSignIn?, _ body: @escaping @Sendable (SQLSession) throws -> Success
    ) {
        var result: Success?
        self.locks = locks
        self.signIn = signIn
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
