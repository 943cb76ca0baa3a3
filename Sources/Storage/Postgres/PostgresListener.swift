import Dispatch
import Glibc
import Primitives
import StorageModel
import Synchronization

/// Hears of what other processes change, on a connection of its own that only listens (`LISTEN`).
///
/// A server tells of a change when it is committed, to those who listen then. So whenever listening begins, at first and
/// after each loss of the connection, anything may have changed.
///
/// `@unchecked`: the bell's ends never change; the rest is behind a lock, or used on the queue only.
final class PostgresListener: @unchecked Sendable {
    /// What the tables' triggers tell by.
    static let channel = "latchkey"

    private let configuration: PostgresConfiguration
    private let queue = DispatchQueue(label: "latchkey.postgres.listener")
    /// The ends of a pipe, written to when it is to end.
    private let bell: (reading: CInt, writing: CInt)?
    private let isOver = Mutex(false)

    init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
        var ends: [CInt] = [-1, -1]
        bell = pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        guard let bell else { return }
        close(bell.reading)
        close(bell.writing)
    }

    /// Begins, and calls back on its own queue until it is stopped.
    func start(_ onChange: @escaping @Sendable (StoreChange) -> Void) {
        queue.async { self.listen(onChange) }
    }

    /// Blocks until nobody is called back any more.
    func stop() {
        isOver.withLock { $0 = true }
        if let bell {
            var byte: UInt8 = 0
            _ = write(bell.writing, &byte, 1)
        }
        queue.sync {}
    }

    private func listen(_ onChange: @Sendable (StoreChange) -> Void) {
        let connection = PostgresConnection(configuration, gate: ReconnectGate())
        while !isOver.withLock({ $0 }) {
            do throws(PostgresError) {
                try connection.connect()
                try connection.script("LISTEN \(Self.channel)")
                onChange(.anything)
                try hear(connection, onChange)
            } catch {
                connection.close()
                wait(for: nil, .seconds(1))
            }
        }
    }

    private func hear(
        _ connection: PostgresConnection, _ onChange: @Sendable (StoreChange) -> Void
    ) throws(PostgresError) {
        var isPresent = false
        while !isOver.withLock({ $0 }) {
            if !isPresent { isPresent = try PostgresPresence.show(on: connection) }
            // Where nothing comes for long, the connection may be dead without anybody having said so.
            if !wait(for: connection.descriptor, .seconds(30)) { try connection.script("SELECT 1") }
            for content in try connection.notifications() {
                onChange(Int64(content).map { .user(UserID($0)) } ?? .anything)
            }
        }
    }

    /// Waits until there is something to read, or it is to end; false if nothing came in the time.
    @discardableResult
    private func wait(for descriptor: CInt?, _ time: Duration) -> Bool {
        var waiting = [bell?.reading, descriptor].compactMap { $0 }.map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        return poll(&waiting, nfds_t(waiting.count), CInt(clamping: time.milliseconds)) > 0
    }
}
