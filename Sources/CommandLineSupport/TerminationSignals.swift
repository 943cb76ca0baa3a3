import Glibc
import Synchronization

/// Waits for SIGTERM or SIGINT. A second one ends the process at once, with the status that shells give a signal.
///
/// Made before anything is served, so that an early signal is not missed. SIGPIPE is ignored from then on: a log reader
/// that has gone away must not end the process.
package final class TerminationSignals: Sendable {
    /// A signal that ends a command.
    package enum Signal: Int32, Sendable, CaseIterable, CustomStringConvertible {
        case interrupt = 2
        case terminate = 15

        package var description: String { self == .interrupt ? "SIGINT" : "SIGTERM" }
    }

    private struct State {
        var received: Signal?
        var waiting: CheckedContinuation<Signal, Never>?
    }

    /// What the sources' handlers share with the object. A class, because they outlive the initializer.
    private final class Received: Sendable {
        let state = Mutex(State())

        func receive(_ number: Signal) {
            let (isSecond, waiting) = state.withLock { state in
                defer {
                    state.received = number
                    state.waiting = nil
                }
                return (state.received != nil, state.waiting)
            }
            if isSecond { exit(128 + number.rawValue) }
            waiting?.resume(returning: number)
        }
    }

    private let received: Received
    private let sources: [SignalSource]

    /// - Parameter ignoresHangup: Ignores SIGHUP too, which ends a process by default when its terminal closes.
    package init(ignoresHangup: Bool = false) {
        signal(SIGPIPE, SIG_IGN)
        if ignoresHangup { signal(SIGHUP, SIG_IGN) }
        let received = Received()
        self.received = received
        sources = Signal.allCases.map { number in SignalSource(number.rawValue) { received.receive(number) } }
    }

    /// Whether a signal has been received.
    package var hasReceived: Bool { received.state.withLock { $0.received != nil } }

    /// Returns the first signal, at once if it was received before.
    package func first() async -> Signal {
        await withCheckedContinuation { continuation in
            let first = received.state.withLock { state in
                if state.received == nil { state.waiting = continuation }
                return state.received
            }
            if let first { continuation.resume(returning: first) }
        }
    }
}
