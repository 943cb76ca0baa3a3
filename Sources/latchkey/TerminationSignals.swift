import Dispatch
import Foundation
import Synchronization

/// Waits for SIGTERM or SIGINT. The second one ends the process at once, as impatient operators expect.
///
/// SIGPIPE is switched off with it: a log reader that went away must not end the server. So is SIGHUP, which would end
/// it by default when a terminal closes.
final class TerminationSignals: @unchecked Sendable {
    // @unchecked: `sources` is written once, by the initializer, and read by nobody; the rest is behind `state`.

    enum Signal: Int32, Sendable, CaseIterable, CustomStringConvertible {
        case interrupt = 2
        case terminate = 15

        var description: String { self == .interrupt ? "SIGINT" : "SIGTERM" }
    }

    private struct State {
        var received: Signal?
        var waiting: CheckedContinuation<Signal, Never>?
    }

    private let state = Mutex(State())
    /// Kept, because a source that nobody holds is cancelled.
    private let sources: [any DispatchSourceSignal]

    init() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGHUP, SIG_IGN)
        sources = Signal.allCases.map { number in
            // Without this the default action would come before the source.
            signal(number.rawValue, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number.rawValue, queue: .global())
        }
        for (source, number) in zip(sources, Signal.allCases) {
            source.setEventHandler { [weak self] in self?.receive(number) }
            source.resume()
        }
    }

    /// The first signal: at once if it came before.
    func first() async -> Signal {
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
