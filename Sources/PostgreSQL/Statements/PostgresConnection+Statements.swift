import CLatchkeyPostgres
import Glibc

/// Statements are sent in libpq's pipeline mode: those whose results are not needed wait in libpq's memory, and go with
/// the next one that has a result. The server runs them in their order; if one fails, it skips the rest.
extension PostgresConnection {
    /// Runs a statement and waits for its result; the server keeps it prepared. One round trip, whatever waits.
    /// - Throws: Also the failure of a statement that waited.
    func run(
        _ sql: String, _ parameters: PostgresParameters = PostgresParameters()
    ) throws(PostgresError) -> PostgresResult {
        // Outside a transaction, statements that are sent together are one transaction.
        if isPooled, pipeline.unanswered.isEmpty, PQtransactionStatus(handle) == PQTRANS_IDLE { try sendSettings() }
        try send(sql, parameters, for: .work)
        let result = try results()
        changesCount = result.changesCount
        return result
    }

    /// Runs a statement whose result is not needed, with the next one that has a result. For transactions only.
    func perform(_ sql: String, _ parameters: PostgresParameters) throws(PostgresError) {
        try send(sql, parameters, for: .work)
        if pipeline.isFull { try synchronize() }
    }

    /// Waits until all statements have run.
    func synchronize() throws(PostgresError) {
        guard !pipeline.unanswered.isEmpty else { return }
        _ = try results()
    }

    // MARK: Transactions

    /// Begins a transaction, with its first statement. Each statement sees what was committed before it.
    func begin() throws(PostgresError) {
        try send("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", PostgresParameters(), for: .begin)
        if isPooled { try sendSettings() }
    }

    /// Sets until the end of the transaction what connections without a pooler set once.
    private func sendSettings() throws(PostgresError) {
        let settings = timeouts.map { "set_config('\($0)', '\($1)', true)" }.joined(separator: ", ")
        try send("SELECT " + settings, PostgresParameters(), for: .work)
    }

    /// Commits a transaction, with the statements that wait; false if the server rolled it back instead.
    func commit() throws(PostgresError) -> Bool {
        // The loss of an idle connection shows only when it is used. It must not show in a commit, whose outcome would
        // be unknown.
        if !pipeline.hasResponded { try synchronize() }
        try send("COMMIT", PostgresParameters(), for: .commit)
        return try results().command == "COMMIT"
    }

    /// Rolls a transaction back, unless it has ended. If that fails, the connection is closed, and the server rolls
    /// back by itself.
    func rollBack() {
        // Nothing of what waits will be stored, so it may fail.
        try? synchronize()
        guard let handle, PQtransactionStatus(handle) != PQTRANS_IDLE else { return }
        do throws(PostgresError) {
            try send("ROLLBACK", PostgresParameters(), for: .work)
            try synchronize()
        } catch {
            close()
        }
    }

    /// Finds out whether a pooler keeps the names of prepared statements, as PgBouncer does from version 1.21 on with
    /// `max_prepared_statements`: it gives them other names on the server. Leaves none there.
    func probeNames() throws(PostgresError) {
        keepsNames = false
        try begin()
        let handle = try usable()
        let name = pipeline.makeName(on: PQbackendPID(handle))
        let probe = "SELECT 1 FROM pg_prepared_statements WHERE name = '\(name)'"
        guard PQsendPrepare(handle, name, probe, 0, nil) == 1 else { throw closed(by: lost(handle)) }
        pipeline.noteSentPreparation(probe, as: name, for: .work)
        let isRenamed = try run(probe).rowCount == 0
        if !isRenamed { try perform("DEALLOCATE \(name)", PostgresParameters()) }
        keepsNames = try commit() && isRenamed
    }

    // MARK: Scripts

    /// Runs statements without values, and discards their results.
    func script(_ sql: String) throws(PostgresError) {
        try synchronize()
        let handle = try usable()
        let deadline = responseDeadline
        do throws(PostgresError) {
            guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, sql) == 1 else { throw lost(handle) }
            try flush(handle, until: deadline)
            var failure: PostgresError?
            while let result = try nextResult(handle, of: sql, until: deadline) {
                if failure == nil { failure = result.failure(of: sql) }
            }
            if let failure { throw PQstatus(handle) == CONNECTION_OK ? failure : failure.endingConnection }
        } catch {
            if error.endsConnection { close() }
            throw error
        }
    }

    // MARK: Sending and receiving

    private func send(
        _ sql: String, _ parameters: PostgresParameters, for purpose: PostgresPipeline.Statement.Purpose
    ) throws(PostgresError) {
        var sql = sql
        if let interceptor = configuration.interceptor {
            try synchronize()
            sql = interceptor(sql)
        }
        let handle = try usable()
        guard PQenterPipelineMode(handle) == 1 else { throw closed(by: lost(handle)) }
        let name = try prepare(sql, parameters.types, for: purpose, on: handle)
        let isSent = parameters.withPointers { pointers, lengths, formats in
            PQsendQueryPrepared(handle, name, CInt(parameters.lengths.count), pointers, lengths, formats, 1) == 1
        }
        guard isSent else { throw closed(by: lost(handle)) }
        pipeline.noteSent(sql, for: purpose)
    }

    private func prepare(
        _ sql: String, _ types: [UInt32], for purpose: PostgresPipeline.Statement.Purpose, on handle: OpaquePointer
    ) throws(PostgresError) -> String {
        if let name = pipeline.name(of: sql) { return name }
        // A pooler's next connection to the server may lack a name.
        let name = keepsNames ? pipeline.makeName(on: PQbackendPID(handle)) : ""
        let text = PostgresStatementText.translate(sql)
        guard PQsendPrepare(handle, name, text, CInt(types.count), types) == 1 else { throw closed(by: lost(handle)) }
        pipeline.noteSentPreparation(sql, as: name, for: purpose)
        return name
    }

    /// Has the server run what was sent; the last result, or the first failure.
    private func results() throws(PostgresError) -> PostgresResult {
        let handle = try usable()
        let statements = pipeline.unanswered
        var failure: (place: Int, error: PostgresError)?
        do throws(PostgresError) {
            guard PQpipelineSync(handle) == 1 else { throw lost(handle) }
            try flush(handle, until: responseDeadline)
            var last: PostgresResult?
            for (place, statement) in statements.enumerated() {
                // Each result is progress. But the server sends small ones together, after the last statement.
                let deadline = responseDeadline
                while let result = try nextResult(handle, of: statement.sql, until: deadline) {
                    last = result
                    guard failure == nil, let error = result.failure(of: statement.sql) else { continue }
                    failure = (place, error)
                    if error.endsConnection { throw error }
                }
            }
            guard let last, let end = try nextResult(handle, of: "", until: responseDeadline), end.endsPipeline else {
                throw lost(handle)
            }
            pipeline.noteAnswered(failure: failure?.place)
            if let failure { throw failure.error }
            return last
        } catch {
            throw described(error, after: failure, of: statements)
        }
    }

    /// The failure of a pipeline, after which a broken connection is closed.
    private func described(
        _ error: PostgresError, after failure: (place: Int, error: PostgresError)?,
        of statements: [PostgresPipeline.Statement]
    ) -> PostgresError {
        // What the server said first is the cause.
        var described = failure?.error ?? error
        described.isOfBegin = failure.map { statements[$0.place].purpose == .begin } ?? false
        // The server skips the commit, which is last, after a failure of its own. But one without a code is libpq's,
        // such as a response that it could not read: the server has run the rest. And a server that says why it ends
        // the connection may do so after the commit. So may a pooler that lost the server, in place of any response.
        let mayHaveCommitted =
            failure.map { failure in
                failure.error.state == nil
                    || failure.error.isOfConnection
                    || (error.endsConnection && (isPooled || failure.place == statements.count - 1))
            } ?? true
        described.mayBeCommitted = mayHaveCommitted && statements.last?.purpose == .commit
        guard error.endsConnection || described.mayBeCommitted else { return described }
        close()
        return described.endingConnection
    }

    private func closed(by error: PostgresError) -> PostgresError {
        close()
        return error
    }

    private func usable() throws(PostgresError) -> OpaquePointer {
        guard let handle, PQstatus(handle) == CONNECTION_OK else {
            throw PostgresError(
                state: nil, reason: "there is no connection to the PostgreSQL server", endsConnection: true)
        }
        return handle
    }

    /// The server's own time limit ends first, so that the connection survives.
    private var responseDeadline: ContinuousClock.Instant {
        ContinuousClock.now + configuration.statementTimeout + .seconds(1)
    }

    private func flush(_ handle: OpaquePointer, until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1:
                // The server may need its output read before it reads.
                let events = try wait(POLLIN | POLLOUT, until: deadline, "for the server to take a statement")
                if events & POLLIN != 0, PQconsumeInput(handle) != 1 { throw lost(handle) }
            default: throw lost(handle)
            }
        }
    }

    /// The next result of a statement; nil after its last one.
    private func nextResult(
        _ handle: OpaquePointer, of sql: String, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> PostgresResult? {
        while PQisBusy(handle) == 1 {
            try wait(POLLIN, until: deadline, "for the response to: \(sql)")
            guard PQconsumeInput(handle) == 1 else { throw lost(handle) }
        }
        return PQgetResult(handle).map { PostgresResult($0) }
    }
}
