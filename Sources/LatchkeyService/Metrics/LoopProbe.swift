import HTTPServer
import Observability

/// Measures once a second how long the event loops take to come to new work.
struct LoopProbe: Sendable {
    private static let pause = Duration.seconds(1)
    /// From a tenth of a millisecond.
    private static let bounds: [UInt64] = [100_000, 250_000] + Histogram.latencies.dropLast(2)

    let lag = Histogram(
        "latchkey_event_loop_lag_seconds",
        "How long the event loops take to come to new work; measured once a second, of each loop.", bounds: bounds)

    /// Goes on until the task is cancelled.
    func run(_ server: Server) async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: LoopProbe.pause)
            } catch {
                return
            }
            for delay in await server.loopDelays() {
                lag.observe(UInt64(max(0, delay / .nanoseconds(1))))
            }
        }
    }
}
