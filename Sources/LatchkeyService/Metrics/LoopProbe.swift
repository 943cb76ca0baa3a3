import HTTPServer
import Observability

/// Measures the lag of the event loops once a second.
struct LoopProbe: Sendable {
    /// From a tenth of a millisecond.
    private static let bounds: [UInt64] = [100_000, 250_000] + Histogram.latencies.dropLast(2)

    let lag = Histogram(
        "latchkey_event_loop_lag_seconds",
        "Time until an event loop starts new work; measured once a second on each loop.", bounds: bounds)

    /// Runs until the task is cancelled.
    func run(_ server: Server) async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            for delay in await server.loopDelays() { lag.observe(UInt64(max(0, delay / .nanoseconds(1)))) }
        }
    }
}
