import StorageModel

/// A failure of PostgreSQL, and what it leaves behind.
struct PostgresError: Error {
    /// Five letters and digits (https://www.postgresql.org/docs/15/errcodes-appendix.html); nil where the connection
    /// failed and the server said nothing.
    let state: String?
    /// Without the values that a statement was given: the server's detail, which has them, is not in it.
    let reason: String
    /// Whether the connection is of no use any more.
    let endsConnection: Bool

    /// Whether it was the client that lost patience with the server.
    var isSilence = false

    /// Whether the connection broke. What it was used for may be done again on another one, unless that was a commit.
    var isLoss: Bool { endsConnection && !isSilence }

    /// Another transaction was in the way: the same may well succeed when it is done again.
    var isCollision: Bool {
        switch state {
        // serialization_failure, deadlock_detected
        case "40001", "40P01": true
        default: false
        }
    }

    /// Something is there already, or not there any more: it may be that another transaction has just done that.
    var isConstraint: Bool { state?.hasPrefix("23") ?? false }
}

extension StorageError {
    init(_ error: PostgresError) {
        let state = error.state.map { " (PostgreSQL \($0))" } ?? ""
        self.init(Code(postgres: error.state), reason: error.reason + state)
    }
}

extension StorageError.Code {
    fileprivate init(postgres state: String?) {
        guard let state else {
            self = .unavailable
            return
        }
        switch state {
        // disk_full, io_error
        case "53100", "58030": self = .full
        // insufficient_privilege: not in these tables' content, but in who may use them.
        case "42501": self = .unavailable
        default: self.init(class: state.prefix(2))
        }
    }

    private init(class name: Substring) {
        switch name {
        case "23": self = .conflict
        // Data that do not fit, statements that do not fit the tables, a schema that is not there, and damage.
        case "22", "42", "3F", "XX": self = .corrupt
        default: self = .unavailable
        }
    }
}
