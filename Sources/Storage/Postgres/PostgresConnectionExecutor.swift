import Dispatch

/// A connection of a pool and the queue that all its work runs on; a busy queue has its own thread.
///
/// `@unchecked`: only work on `queue` touches the connection.
final class PostgresConnectionExecutor: ConnectionExecutor, @unchecked Sendable {
    typealias Runner = @Sendable (_ batch: [any DatabaseWork], _ connection: PostgresConnection) -> Void

    private let connection: PostgresConnection
    private let queue: DispatchQueue
    private let runBatch: Runner

    /// - Parameter runBatch: Runs a batch and completes each work in it.
    init(_ configuration: PostgresConfiguration, gate: ReconnectGate, _ label: String, runBatch: @escaping Runner) {
        connection = PostgresConnection(configuration, gate: gate)
        queue = DispatchQueue(label: "latchkey.postgres.\(label)")
        self.runBatch = runBatch
    }

    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void) {
        queue.async { body { batch in self.runBatch(batch, self.connection) } }
    }

    /// Blocks until it is done.
    func close() { queue.sync { connection.close() } }
}
