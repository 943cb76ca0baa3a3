import Dispatch
import StorageModel

/// A connection of a pool, and the queue that everything on it is done on; a busy queue has a thread of its own.
///
/// `@unchecked`: the connection is touched only on the queue.
final class PostgresConnectionExecutor: ConnectionExecutor, @unchecked Sendable {
    typealias Runner = @Sendable (_ batch: [any DatabaseWork], _ connection: PostgresConnection) -> Void

    private let connection: PostgresConnection
    private let queue: DispatchQueue
    private let runBatch: Runner

    /// - Parameter runBatch: Runs the work of a batch and lets each of it succeed or fail.
    init(_ configuration: PostgresConfiguration, gate: ReconnectGate, _ label: String, runBatch: @escaping Runner) {
        connection = PostgresConnection(configuration, gate: gate)
        queue = DispatchQueue(label: "latchkey.postgres.\(label)")
        self.runBatch = runBatch
    }

    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void) {
        queue.async { body { batch in self.runBatch(batch, self.connection) } }
    }

    /// Blocks until it is done.
    func close() {
        queue.sync { connection.close() }
    }
}
