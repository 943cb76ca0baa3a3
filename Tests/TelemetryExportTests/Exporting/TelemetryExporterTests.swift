import Logging
import Observability
import Primitives
import Synchronization
import TestSupport
import Testing

@testable import TelemetryExport

/// The exporter with a receiver that the test plays.
@Suite struct TelemetryExporterTests {
    private final class Receiver: Sendable {
        struct State {
            var response = ReceiverResponse.accepted(rejected: 0)
            var bodies: [String: [String]] = [:]
        }

        let state = Mutex(State())
        let gate: Gate?

        init(gate: Gate? = nil) { self.gate = gate }

        func post(_ signal: TelemetrySignal, _ body: [UInt8]) async -> ReceiverResponse {
            await gate?.pass()
            return state.withLock { state in
                state.bodies[signal.rawValue, default: []].append(String(decoding: body, as: UTF8.self))
                return state.response
            }
        }

        func count(_ signal: String) -> Int { state.withLock { $0.bodies[signal]?.count ?? 0 } }
    }

    private final class Lines: Sendable {
        let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            lines.texts.withLock { $0.append("\(event.level) \(event.message)\(fields.joined())") }
        }
    }

    private func exporter(
        _ receiver: Receiver, _ lines: Lines = Lines(), interval: Duration = .seconds(3600), waiting: Int = 4
    ) -> TelemetryExporter {
        var limits = SpanBatching.Limits()
        limits.waiting = waiting
        limits.batch = 2
        limits.delay = .milliseconds(1)
        return TelemetryExporter(
            TelemetryResource(serviceName: "s", version: "v"), metricsInterval: interval, limits: limits,
            // No chance, and delays of half a step.
            random: RandomSource { [UInt8](repeating: 0, count: $0) },
            logger: Logger(label: "test") { _ in Handler(lines: lines) }
        ) { signal, body, _ in await receiver.post(signal, body) }
    }

    @Test("Spans are exported in the background, and at the end the rest and the metrics")
    func works() async throws {
        let receiver = Receiver()
        let exporter = exporter(receiver)
        let registry = MetricsRegistry()
        registry.add([Counter("things_total", "Things.")] + TelemetryExporter.metrics(of: exporter))
        exporter.run(registry)
        exporter.add(.named("one"))
        try await until { exporter.counts.exported == 1 }
        #expect(receiver.count("metrics") == 0)
        exporter.add(.named("two"))
        await exporter.stop(within: .seconds(60))
        #expect(exporter.counts.exported == 2 && exporter.waiting == 0)
        let bodies = receiver.state.withLock { $0.bodies }
        #expect(bodies["traces"]?.joined().contains(#""name":"two""#) == true)
        #expect(bodies["metrics"]?.count == 1)
        #expect(bodies["metrics"]?.first?.contains(#""name":"things_total""#) == true)
    }

    @Test(
        "A receiver that fails costs the spans, no more memory than the limits, and one line in the log",
        arguments: [
            ReceiverResponse.unavailable(retryAfter: nil, reason: "REASON"), .refused(reason: "REASON"),
        ])
    func fails(response: ReceiverResponse) async throws {
        let receiver = Receiver()
        receiver.state.withLock { $0.response = response }
        let lines = Lines()
        let exporter = exporter(receiver, lines)
        let registry = MetricsRegistry()
        registry.add(TelemetryExporter.metrics(of: exporter))
        exporter.run(registry)
        var added: UInt64 = 0
        try await until {
            for _ in 0..<100 {
                exporter.add(.named("a"))
                added += 1
                #expect(exporter.waiting <= 6)
            }
            return receiver.count("traces") >= 2
        }
        #expect(exporter.counts.displaced > 0)
        #expect(
            lines.all == [
                "warning telemetry cannot be exported; what does not fit into memory is dropped "
                    + "reason=REASON signal=traces"
            ])
        // Then it works again.
        receiver.state.withLock { $0.response = .accepted(rejected: 0) }
        try await until {
            exporter.add(.named("b"))
            added += 1
            return lines.all.count > 1
        }
        #expect(lines.all.dropFirst() == ["info telemetry is exported again signal=traces"])
        await exporter.stop(within: .seconds(60))
        let counts = exporter.counts
        #expect(
            counts.exported + counts.displaced + counts.refused + counts.failed + counts.unsent == added,
            "every span is counted once")
        let page = String(decoding: registry.page(), as: UTF8.self)
        #expect(page.contains("latchkey_telemetry_spans_total{outcome=\"displaced\"} \(counts.displaced)\n"))
        #expect(page.contains(#"latchkey_telemetry_exports_total{signal="traces",outcome="ok"}"#))
        #expect(page.contains("latchkey_telemetry_spans_waiting 0\n"))
    }

    @Test("A receiver that hangs delays neither a request nor the end")
    func hangs() async throws {
        let gate = Gate()
        // Only afterwards: until then each export waits.
        defer { gate.open() }
        let exporter = exporter(Receiver(gate: gate), interval: .milliseconds(1))
        exporter.run(MetricsRegistry())
        for number in 0..<1000 { exporter.add(.named("\(number)")) }
        #expect(exporter.waiting <= 6)
        #expect(exporter.counts.displaced > 0)
        let hasEnded = SharedFlag()
        Task {
            await exporter.stop(within: .milliseconds(10))
            hasEnded.set()
        }
        try await until { hasEnded.isSet }
    }

    @Test("Metrics are exported at intervals")
    func metrics() async throws {
        let receiver = Receiver()
        let exporter = exporter(receiver, interval: .milliseconds(1))
        let registry = MetricsRegistry()
        registry.add([Counter("things_total", "Things.")])
        exporter.run(registry)
        try await until { receiver.count("metrics") >= 3 }
        await exporter.stop(within: .seconds(60))
    }
}
