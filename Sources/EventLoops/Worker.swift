import CLatchkeySystem
package import Dispatch
import Glibc
import Synchronization

/// A thread for work that blocks: a Dispatch queue with one block, which returns when the work is over. All threads of
/// Latchkey are Dispatch's.
///
/// A separate serial queue gets a thread whatever else runs, where Dispatch's shared queues add one a second: a few
/// look-ups that hang would delay all others. Dispatch has up to 255 for the queues of each quality of service, which
/// means nothing else on Linux. Workers take no signals but their own faults.
package enum Worker {
    /// While the system refuses a thread, Dispatch blocks who asks for one. That is one worker, never an event loop.
    private static let starter = Starter()

    /// Runs `body` on a worker.
    /// - Parameter name: For the system's lists of threads, which show the first 15 bytes.
    package static func start(
        _ name: String, quality: DispatchQoS = .default, _ body: @escaping @Sendable () -> Void
    ) {
        starter.perform { run(name, quality, body) }
    }

    private static func run(_ name: String, _ quality: DispatchQoS, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: name, qos: quality).async {
            // The others are blocked already, but a write to a closed pipe or socket, of a resolver too, is an error.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            csystem_name_thread(name)
            body()
        }
    }

    /// The worker that starts all others; it never ends.
    private final class Starter: Sendable {
        private let requests = Mutex<[@Sendable () -> Void]>([])
        private let requested = DispatchSemaphore(value: 0)

        init() {
            Worker.run("starter", .default) {
                while true {
                    self.requested.wait()
                    for start in self.requests.withLock({ exchange(&$0, with: []) }) { start() }
                }
            }
        }

        func perform(_ start: @escaping @Sendable () -> Void) {
            requests.withLock { $0.append(start) }
            requested.signal()
        }
    }
}
