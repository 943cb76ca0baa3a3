import Dispatch
import Glibc

/// Waits for SIGINT or SIGTERM. Made before anything is served, so that an early signal is not missed.
struct TerminationSignals {
    private let signals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init() {
        let (signals, continuation) = AsyncStream<Void>.makeStream()
        self.signals = signals
        sources = [SIGINT, SIGTERM].map { number in
            // The default action would end the process before the source is told.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.activate()
            return source
        }
    }

    /// Returns when the first signal comes.
    func next() async {
        for await _ in signals { break }
        for source in sources { source.cancel() }
    }
}
