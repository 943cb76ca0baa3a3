import Storage
import StorageModel

/// A failure of PostgreSQL, and the state of the connection after it.
struct PostgresError: EngineError {
    /// Five letters and digits (https://www.postgresql.org/docs/15/errcodes-appendix.html); nil where the connection
    /// failed and the server said nothing.
    let state: String?
    /// Never contains a statement's values: the server's detail, which does, is left out.
    let reason: String
    /// Whether the connection is unusable.
    private(set) var endsConnection: Bool

    /// Whether the client's own deadline passed.
    var isSilence = false

    /// Whether the transaction could not begin.
    var isOfBegin = false

    /// Whether a commit was sent and its outcome is not known.
    var mayBeCommitted = false

    /// The same failure of a connection that has broken.
    var endingConnection: PostgresError {
        var error = self
        error.endsConnection = true
        return error
    }

    /// Whether it is about the connection (class 08). A pooler that lost its server, or has none, says so, in some
    /// versions as an error of the statement.
    var isOfConnection: Bool { state?.hasPrefix("08") ?? false }

    /// Whether the connection broke. Its work may be retried on another connection, unless that was a commit.
    var isLoss: Bool { endsConnection && !isSilence }

    /// Whether another transaction caused the failure (serialization_failure, deadlock_detected): a retry may succeed.
    var isCollision: Bool { state == "40001" || state == "40P01" }

    /// Whether a lock was not given within `lock_timeout` (lock_not_available).
    var isLockTimeout: Bool { state == "55P03" }

    /// Whether a row exists already or no more, perhaps because of another transaction.
    var isConstraint: Bool { state?.hasPrefix("23") ?? false }

    var storageError: StorageError {
        StorageError(StorageError.Code(postgres: state), reason: reason + (state.map { " (PostgreSQL \($0))" } ?? ""))
    }
}

extension StorageError.Code {
    fileprivate init(postgres state: String?) {
        let state = state ?? ""
        switch (state, state.prefix(2)) {
        // disk_full, io_error
        case ("53100", _), ("58030", _): self = .full
        // insufficient_privilege: the tables' content is intact.
        case ("42501", _): self = .unavailable
        case (_, "23"): self = .conflict
        // Unsuitable data, statements that do not match the tables, a missing schema, and damage.
        case (_, "22"), (_, "42"), (_, "3F"), (_, "XX"): self = .corrupt
        default: self = .unavailable
        }
    }
}
