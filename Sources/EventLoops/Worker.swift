import CLatchkeySystem
package import Dispatch

/// A thread for work that blocks: a Dispatch queue with one block, which returns when the work is over. All threads of
/// Latchkey are Dispatch's.
///
/// A separate serial queue gets a thread whatever else runs, where Dispatch's shared queues add one a second: a few
/// look-ups that hang would delay all others. Dispatch has up to 255 for the queues of each quality of service, which
/// means nothing else on Linux. They take no signals but their own faults.
package enum Worker {
    /// Runs `body` on a worker.
    /// - Parameter name: For the system's lists of threads, which show the first 15 bytes.
    package static func start(
        _ name: String, quality: DispatchQoS = .default, _ body: @escaping @Sendable () -> Void
    ) {
        DispatchQueue(label: name, qos: quality).async {
            csystem_name_thread(name)
            body()
        }
    }
}
