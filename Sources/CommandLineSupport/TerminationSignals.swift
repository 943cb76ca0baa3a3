import Dispatch
import Glibc
import Primitives

/// Waits for SIGTERM or SIGINT. A second one ends the process at once, with the status that shells give a signal.
///
/// Made before anything is served, so that an early signal is not missed. SIGPIPE is ignored from then on: a log reader
/// that has gone away must not end the process.
package final class TerminationSignals: Sendable {
    package enum Signal: Int32, Sendable, CaseIterable, CustomStringConvertible {
        case interrupt = 2
        case terminate = 15

        package var description: String { self == .interrupt ? "SIGINT" : "SIGTERM" }
    }

    private let signals: AsyncStream<Signal>
    private let isReceived: SharedFlag
    private let sources: [SignalSource]

    /// - Parameter ignoresHangup: Ignores SIGHUP too, which ends a process by default when its terminal closes.
    package init(ignoresHangup: Bool = false) {
        signal(SIGPIPE, SIG_IGN)
        if ignoresHangup { signal(SIGHUP, SIG_IGN) }
        let (signals, continuation) = AsyncStream.makeStream(of: Signal.self)
        let isReceived = SharedFlag()
        (self.signals, self.isReceived) = (signals, isReceived)
        sources = Signal.allCases.map { number in
            SignalSource(number.rawValue) {
                // `exit` would tear down what other threads still use.
                if isReceived.set() { _exit(128 + number.rawValue) }
                continuation.yield(number)
            }
        }
    }

    package var hasReceived: Bool { isReceived.isSet }

    /// Returns the first signal, at once if it was received before. For one caller.
    package func first() async -> Signal {
        for await signal in signals { return signal }
        // The task was cancelled.
        return .terminate
    }
}

/// Calls a handler for each signal of one kind, from the moment it is made until it is cancelled.
///
/// Dispatch starts to listen for a signal on a thread of its own, some time after a source is resumed. Until then the
/// signal has its former action. So this waits for Dispatch before it returns: a signal that is sent later is never
/// lost. On Linux Dispatch replaces the signal's action, so that nothing has to be ignored first.
///
/// Sendable without the compiler's check: `source` is constant, and Dispatch's sources may be used by all threads.
package final class SignalSource: @unchecked Sendable {
    private let source: any DispatchSourceSignal

    /// Starts to listen for a signal, which no longer has its default action.
    /// - Parameter handler: Called on a queue of this source, never for two signals at once. Signals of the same kind
    ///   that arrive before it is called are one signal.
    package init(_ number: Int32, handler: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "signal \(number)"))
        source.setEventHandler(handler: handler)
        let listens = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { listens.signal() }
        source.resume()
        listens.wait()
    }

    deinit { source.cancel() }

    /// The signals of one kind from now on. Signals that arrive before they are read are one element.
    package static func signals(_ number: Int32) -> AsyncStream<Void> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let source = SignalSource(number) { continuation.yield() }
        // The closure owns the source: it listens as long as somebody may read.
        continuation.onTermination = { _ in withExtendedLifetime(source) {} }
        return signals
    }
}
