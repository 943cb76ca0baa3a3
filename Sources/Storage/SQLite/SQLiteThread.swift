import CLatchkeySystem
import Dispatch
import StorageModel
import Synchronization

/// A thread that runs the work of one connection.
///
/// With a Dispatch queue instead, each batch would cost the work of waking and retiring one of Dispatch's threads.
final class SQLiteThread: ConnectionExecutor {
    typealias Batch = @Sendable ([any DatabaseWork], SQLiteConnection) -> Void
    private typealias Call = @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void

    /// What the thread shares with its owner. The thread does not keep its owner alive.
    private final class Shared: Sendable {
        let call = Mutex<Call?>(nil)
        let isEnding = Atomic(false)
        /// Signalled for each call, and to end.
        let wake = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)
        let connection: SQLiteConnection
        let run: Batch

        init(_ connection: SQLiteConnection, _ run: @escaping Batch) {
            self.connection = connection
            self.run = run
        }

        /// The thread's body.
        func serve() {
            while true {
                wake.wait()
                if let call = call.withLock({ $0.take() }) {
                    call { batch in run(batch, connection) }
                } else if isEnding.load(ordering: .acquiring) {
                    break
                }
            }
            hasEnded.signal()
        }
    }

    private let shared: Shared

    /// - Parameter name: At most 15 characters.
    init(named name: String, _ connection: SQLiteConnection, run: @escaping Batch) throws(StorageError) {
        shared = Shared(connection, run)
        let context = Unmanaged.passRetained(shared)
        let error = csystem_start_thread(
            name,
            { context in
                guard let context else { return }
                Unmanaged<Shared>.fromOpaque(context).takeRetainedValue().serve()
            }, context.toOpaque())
        guard error == 0 else {
            context.release()
            throw StorageError(.unavailable, reason: "no thread for a connection (error \(error))")
        }
    }

    deinit { beginEnd() }

    /// The thread has taken the previous call, though the call may not have returned: ``WorkQueue`` gives an executor
    /// another one as soon as the last has found nothing to do.
    func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void) {
        shared.call.withLock { $0 = body }
        shared.wake.signal()
    }

    /// Ends the thread after its last call. Blocks.
    func end() {
        beginEnd()
        shared.hasEnded.wait()
        // Another call returns, too.
        shared.hasEnded.signal()
    }

    private func beginEnd() {
        guard !shared.isEnding.exchange(true, ordering: .acquiringAndReleasing) else { return }
        shared.wake.signal()
    }
}
