import Dispatch
import Foundation
import Synchronization

/// Waits for SIGTERM or SIGINT. A second one ends the process at once, with the status that shells give a signal.
///
/// Made before anything is served, so that an early signal is not missed. SIGPIPE is ignored from then on: a log reader
/// that has gone away must not end the process.
///
/// Sendable without the compiler's check: `sources` is constant, and the rest is behind `state`.
package final class TerminationSignals: @unchecked Sendable {
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

    private let state = Mutex(State())
    /// Held, because a source without an owner is cancelled.
    private let sources: [any DispatchSourceSignal]

    /// - Parameter ignoresHangup: Ignores SIGHUP too, which ends a process by default when its terminal closes.
    package init(ignoresHangup: Bool = false) {
        signal(SIGPIPE, SIG_IGN)
        if ignoresHangup { signal(SIGHUP, SIG_IGN) }
        sources = Signal.allCases.map { number in
            // The default action would end the process before the source sees the signal.
            signal(number.rawValue, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number.rawValue, queue: .global())
        }
        for (source, number) in zip(sources, Signal.allCases) {
            source.setEventHandler { [weak self] in self?.receive(number) }
            source.resume()
        }
    }

    /// Whether a signal has been received.
    package var hasReceived: Bool { state.withLock { $0.received != nil } }

    /// Returns the first signal, at once if it was received before.
    package func first() async -> Signal {
        await withCheckedContinuation { continuation in
            let received = state.withLock { state in
                if state.received == nil { state.waiting = continuation }
                return state.received
            }
            if let received { continuation.resume(returning: received) }
        }
    }

    private func receive(_ number: Signal) {
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
