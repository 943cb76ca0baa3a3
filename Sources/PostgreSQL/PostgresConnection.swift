import CLatchkeyPostgres
import Glibc
import Primitives
import Storage

/// A connection to a PostgreSQL server, opened when needed and reopened after a loss.
///
/// Calls libpq without blocking: every wait has a deadline, whatever the server and the network do.
///
/// `@unchecked`: one thread uses it at a time. Who makes it hands it on to the worker that runs its work.
final class PostgresConnection: PostgresSession, @unchecked Sendable {
    let configuration: PostgresConfiguration
    /// Whether each transaction may run on another connection to the server.
    let isPooled: Bool
    /// Whether statements stay prepared under their names.
    var keepsNames = true
    private let gate: ReconnectGate
    private(set) var handle: OpaquePointer?
    var pipeline = PostgresPipeline()
    /// How many rows the last statement changed that was waited for.
    var changesCount = 0
    /// Memory for the values of the next statement.
    var spareParameters = PostgresParameters()

    init(_ configuration: PostgresConfiguration, gate: ReconnectGate) {
        self.configuration = configuration
        isPooled = configuration.isPooled
        self.gate = gate
    }

    deinit { PQfinish(handle) }

    func close() {
        PQfinish(handle)
        handle = nil
        pipeline = PostgresPipeline()
    }

    /// The connection's file descriptor, to wait on; nil if there is none.
    var descriptor: CInt? {
        guard let handle else { return nil }
        let descriptor = PQsocket(handle)
        return descriptor >= 0 ? descriptor : nil
    }

    /// The server's version, such as 150018; 0 without a connection.
    var serverVersion: CInt { handle.map { PQserverVersion($0) } ?? 0 }

    func statement(_ sql: String) -> any PostgresStatement { PostgresRun(self, sql) }

    // MARK: Connecting

    /// Connects, unless there is a connection.
    func connect() throws(PostgresError) {
        if let handle, PQstatus(handle) == CONNECTION_OK { return }
        close()
        if let writeBlocker = gate.writeBlocker { throw unreachable(writeBlocker) }
        do throws(PostgresError) {
            try open()
            gate.noteSuccess()
        } catch {
            close()
            gate.noteFailure(error.reason)
            throw error
        }
    }

    private func open() throws(PostgresError) {
        // libpq's message about an invalid URL contains the URL.
        guard let options = PQconninfoParse(configuration.url.exposed, nil) else {
            throw unreachable("the URL is not valid for libpq")
        }
        PQconninfoFree(options)
        let deadline = ContinuousClock.now + configuration.connectTimeout
        let milliseconds = "\(configuration.statementTimeout.milliseconds)"
        // The URL's settings come later and take precedence. From here on libpq's memory holds the URL's password.
        let settings = [
            ("application_name", "latchkey"), ("client_encoding", "UTF8"), ("keepalives_idle", "30"),
            ("keepalives_interval", "10"), ("keepalives_count", "3"), ("tcp_user_timeout", milliseconds),
            ("dbname", configuration.url.exposed),
        ]
        guard let opened = withCStrings(settings, { PQconnectStartParams($0, $1, 1) }) else {
            throw unreachable("there is no memory for a connection")
        }
        handle = opened
        // Discards notices, which libpq would write to standard error.
        PQsetNoticeProcessor(opened, { _, _ in }, nil)
        var state = PGRES_POLLING_WRITING
        while PQstatus(opened) != CONNECTION_BAD {
            switch state {
            case PGRES_POLLING_OK: return try prepareSession(opened)
            case PGRES_POLLING_READING: try wait(POLLIN, until: deadline, "for the server to take the connection")
            case PGRES_POLLING_WRITING: try wait(POLLOUT, until: deadline, "for the server to take the connection")
            default: break
            }
            state = PQconnectPoll(opened)
        }
        throw unreachable(message(of: opened))
    }

    private func prepareSession(_ handle: OpaquePointer) throws(PostgresError) {
        guard PQsetnonblocking(handle, 1) == 0 else { throw unreachable(message(of: handle)) }
        // The connection to the server is the pooler's: its settings would be those of other clients.
        guard !isPooled else { return try probeNames() }
        // Within a minute the server frees the connection of a client that disappeared without a word; by its defaults,
        // after two hours.
        let keepalives: [(String, Int64)] = [
            ("tcp_keepalives_idle", 30), ("tcp_keepalives_interval", 10), ("tcp_keepalives_count", 3),
            ("tcp_user_timeout", 60_000),
        ]
        let settings = (timeouts + keepalives).map { "SET \($0) = \($1);" }
        // Each statement of a request uses an index. A plan that the server makes while a table is small would read the
        // whole table instead. It is kept until the server analyzes the table, also if that grows by thousands of rows.
        // A statement without an index then has a cost for which the server would compile it, each time.
        try script(settings.joined() + "SET enable_seqscan = off; SET jit = off; SET client_min_messages = error")
    }

    /// The server's settings for the time of transactions, in milliseconds. A transaction whose client has disappeared
    /// releases its locks.
    var timeouts: [(String, Int64)] {
        let milliseconds = configuration.statementTimeout.milliseconds
        return [("statement_timeout", milliseconds), ("idle_in_transaction_session_timeout", 2 * milliseconds)]
    }

    private func unreachable(_ reason: String) -> PostgresError {
        PostgresError(state: nil, reason: "the PostgreSQL server cannot be reached: \(reason)", endsConnection: true)
    }

    /// libpq's message, on one line. It names host, port and user, but no password.
    private func message(of handle: OpaquePointer) -> String {
        guard let text = PQerrorMessage(handle) else { return "for an unknown reason" }
        let lines = String(cString: text).split(whereSeparator: \.isNewline).map { $0.drop { $0 == "\t" || $0 == " " } }
        return lines.isEmpty ? "for an unknown reason" : lines.joined(separator: " ")
    }

    // MARK: Waiting

    func lost(_ handle: OpaquePointer) -> PostgresError {
        PostgresError(
            state: nil, reason: "the connection to the PostgreSQL server was lost: \(message(of: handle))",
            endsConnection: true)
    }

    /// Reads what the server sends unasked; returns the payloads of its notifications.
    func notifications() throws(PostgresError) -> [String] {
        guard let handle, PQconsumeInput(handle) == 1 else {
            defer { close() }
            throw handle.map(lost) ?? unreachable("there is no connection")
        }
        var contents: [String] = []
        while let notification = PQnotifies(handle) {
            contents.append(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        return contents
    }

    @discardableResult
    func wait(
        _ events: CInt, until deadline: ContinuousClock.Instant, _ purpose: @autoclosure () -> String
    ) throws(PostgresError) -> CInt {
        guard let descriptor else { return POLLERR }
        var waiting = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
        while true {
            let left = (deadline - ContinuousClock.now).milliseconds
            guard left > 0 else {
                throw PostgresError(
                    state: nil, reason: "the PostgreSQL server did not respond in time (waited \(purpose()))",
                    endsConnection: true, isSilence: true)
            }
            let ready = poll(&waiting, 1, CInt(clamping: left))
            if ready > 0 { return CInt(waiting.revents) }
            // libpq's next call reports any other error than an interruption.
            if ready < 0 && errno != EINTR { return POLLERR }
        }
    }
}

/// Gives a call two arrays of NUL-terminated texts that end with a null pointer.
func withCStrings<Value>(
    _ pairs: [(String, String)],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<UnsafePointer<CChar>?>?) -> Value
) -> Value {
    let keys = pairs.map { strdup($0.0) }
    let values = pairs.map { strdup($0.1) }
    defer { for pointer in keys + values { free(pointer) } }
    let end: UnsafePointer<CChar>? = nil
    return (keys.map { UnsafePointer($0) } + [end]).withUnsafeBufferPointer { keys in
        (values.map { UnsafePointer($0) } + [end]).withUnsafeBufferPointer { values in
            body(keys.baseAddress, values.baseAddress)
        }
    }
}
