import Dispatch
import EventLoops
import Glibc
import Storage
import StorageModel
import Synchronization

/// Receives the changes of other processes on its own connection (`LISTEN`).
///
/// The server notifies of a change when it is committed, and only those who listen at that moment. So whenever
/// listening begins, also after a loss of the connection, anything may have changed.
///
/// `@unchecked`: `isOver` is behind its own lock, only the worker uses the connection, and the rest never changes.
final class PostgresListener: @unchecked Sendable {
    private let configuration: PostgresConfiguration
    /// Entered while the worker listens.
    private let listening = DispatchGroup()
    /// The ends of a pipe; a byte written to it ends the listening.
    private let wakePipe: (reading: CInt, writing: CInt)?
    private let isOver = Mutex(false)

    init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
        var ends: [CInt] = [-1, -1]
        wakePipe = pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        guard let wakePipe else { return }
        close(wakePipe.reading)
        close(wakePipe.writing)
    }

    /// Begins to listen; calls back on its own worker until it is stopped.
    func start(_ onChange: @escaping @Sendable (StoreChange) -> Void) {
        listening.enter()
        Worker.start("pg-listener") {
            self.listen(onChange)
            self.listening.leave()
        }
    }

    /// Blocks until the last callback has returned.
    func stop() {
        isOver.withLock { $0 = true }
        if let wakePipe {
            var byte: UInt8 = 0
            _ = write(wakePipe.writing, &byte, 1)
        }
        listening.wait()
    }

    private func listen(_ onChange: @Sendable (StoreChange) -> Void) {
        let connection = PostgresConnection(configuration, gate: ReconnectGate())
        while !isOver.withLock({ $0 }) {
            do throws(PostgresError) {
                try connection.connect()
                try connection.script("LISTEN \(Schema.channel)")
                onChange(.anything)
                try receiveNotifications(connection, onChange)
            } catch {
                connection.close()
                wait(for: nil, .seconds(1))
            }
        }
    }

    private func receiveNotifications(
        _ connection: PostgresConnection, _ onChange: @Sendable (StoreChange) -> Void
    ) throws(PostgresError) {
        var isPresent = false
        while !isOver.withLock({ $0 }) {
            if !isPresent { isPresent = try PostgresPresence.show(on: connection) }
            // A notification that came with the response to a statement is in memory already: the wait would miss it.
            for content in try connection.notifications() {
                onChange(Int64(content).map { .user(UserID($0)) } ?? .anything)
            }
            // After a long silence the connection may be dead without notice.
            if !wait(for: connection.descriptor, .seconds(30)) { try connection.script("SELECT 1") }
        }
    }

    /// Waits for input, or for the end of the listening; false if the time passed.
    @discardableResult
    private func wait(for descriptor: CInt?, _ time: Duration) -> Bool {
        var waiting = [wakePipe?.reading, descriptor].compactMap { $0 }.map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        return poll(&waiting, nfds_t(waiting.count), CInt(clamping: time.milliseconds)) > 0
    }
}

/// Shows whether servers use a database: each holds a shared advisory lock for as long as it is connected.
enum PostgresPresence {
    /// The letters "Latc" and the schema, so that other schemas of the database do not count.
    private static let lock = "(1281455203, hashtext(current_schema()))"

    /// Takes the shared lock until the connection ends; false if another connection holds the lock exclusively.
    static func show(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        try isGiven("SELECT pg_try_advisory_lock_shared\(lock)", on: connection)
    }

    /// Takes the lock exclusively until the connection ends; false if other connections hold it.
    static func takeAlone(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        try isGiven("SELECT pg_try_advisory_lock\(lock)", on: connection)
    }

    private static func isGiven(_ sql: String, on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let result = try connection.run(sql)
        return result.rowCount == 1 && result.bytes(0, 0).first == 1
    }
}
