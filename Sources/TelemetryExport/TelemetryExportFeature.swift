package import LatchkeyService
package import Logging
package import Observability
import OutboundHTTP
package import Primitives
import Synchronization
package import Tracing

/// The export of spans and metrics to `telemetry.otlp_endpoint`.
///
/// It has its own HTTP client: a receiver that hangs takes no connection, no place in a queue and no thread of
/// the requests to providers.
package struct TelemetryExportFeature: Feature {
    /// How long the last exports may delay the end of the process.
    static let lastExport = Duration.seconds(3)
    /// The longest response that is read.
    private static let responseBytes = 64 * 1024

    private let exporter: TelemetryExporter
    private let spans: ExportTracer
    private let client: OutboundHTTPClient
    private let endpoint: EndpointURL
    private let context: FeatureContext

    package init?(_ settings: TelemetrySettings, in context: FeatureContext) throws {
        guard let endpoint = settings.endpoint else { return nil }
        // The administrator names the receiver, so it may be on this machine or in a private network.
        // `outbound.proxy` is used for other machines.
        var outbound = context.configuration.outboundHTTP
        outbound.perHostConnections = 2
        outbound.maximumIdleConnections = 2
        outbound.addressPolicy = AddressPolicy(allowLoopback: true, allowPrivateNetworks: true)
        outbound.urlPolicy = settings.urlPolicy
        if endpoint.isLoopback { outbound.proxy = nil }
        let client = try LatchkeyService.makeClient(outbound)
        let headers = [("Content-Type", "application/json")] + settings.headers.map { ($0.name, $0.value.exposed) }
        let exporter = TelemetryExporter(
            TelemetryResource(serviceName: settings.serviceName, version: LatchkeyVersion.text),
            metricsInterval: settings.metricsInterval, logger: context.logger
        ) { signal, body, timeout in
            // As OpenTelemetry's protocol over HTTP demands: JSON, to a path for each signal.
            let request = OutboundRequest(
                method: .post, url: endpoint.appending(path: "/v1/\(signal.rawValue)"), headers: headers,
                body: body, timeout: timeout, maximumBodyBytes: Self.responseBytes)
            do throws(OutboundError) {
                let response = try await client.send(request)
                return ReceiverResponse(
                    status: response.status, retryAfter: response.retryAfter, body: response.body,
                    now: context.clock.now())
            } catch {
                return .unavailable(retryAfter: nil, reason: error.reason)
            }
        }
        self.client = client
        self.endpoint = endpoint
        self.context = context
        self.exporter = exporter
        spans = ExportTracer(ratio: settings.sampleRatio) { exporter.add($0) }
    }

    package static func metrics(of feature: TelemetryExportFeature?) -> [any Metric] {
        TelemetryExporter.metrics(of: feature?.exporter)
    }

    package var tracer: (any Tracer)? { spans }

    /// Begins to export, and logs where.
    package func start() {
        context.logger.info("telemetry is exported", metadata: ["endpoint": "\(endpoint.text)"])
        exporter.run(context.metrics)
    }

    package func shutdown() async {
        await exporter.stop(within: Self.lastExport)
        await client.shutdown()
    }
}

/// Exports spans and metrics in the background, until it is stopped.
///
/// A request only adds its spans to a list under a lock. Whatever the receiver does, it delays no request, and the
/// memory for spans is bounded.
package final class TelemetryExporter: Sendable {
    /// The limit of one export.
    package static let timeout = Duration.seconds(10)

    private let resource: TelemetryResource
    private let metricsInterval: Duration
    private let random: RandomSource
    private let uptime: Uptime
    private let logger: Logger
    private let send: TelemetrySender
    private let spans: Mutex<SpanBatching>
    private let exports = TelemetryExporter.makeExports()
    private let spansWakeup = Wakeup()
    private let metricsWakeup = Wakeup()
    private let isStopping = SharedFlag()
    /// When the exporter was made, in nanoseconds since 1970.
    private let start = TelemetryExporter.now()
    private let running = Mutex<[Task<Void, Never>]>([])

    package init(
        _ resource: TelemetryResource, metricsInterval: Duration, limits: SpanBatching.Limits = .init(),
        random: RandomSource = .system, uptime: Uptime = .system, logger: Logger, send: @escaping TelemetrySender
    ) {
        self.resource = resource
        self.metricsInterval = metricsInterval
        self.random = random
        self.uptime = uptime
        self.logger = logger
        self.send = send
        spans = Mutex(SpanBatching(limits, timeout: Self.timeout))
    }

    /// Takes a span that has ended. Does not wait.
    package func add(_ span: SpanRecord) {
        let now = uptime.elapsed()
        if spans.withLock({ $0.add(span, at: now) }) { spansWakeup.signal() }
    }

    package var counts: SpanBatching.Counts { spans.withLock { $0.counts } }

    package var waiting: Int { spans.withLock { $0.waiting } }

    package func run(_ registry: MetricsRegistry) {
        running.withLock {
            $0 = [Task { await self.exportSpans() }, Task { await self.exportMetrics(of: registry) }]
        }
    }

    /// Exports once what is left, within a time, and ends.
    package func stop(within limit: Duration) async {
        isStopping.set()
        let deadline = uptime.elapsed() + limit
        spans.withLock { $0.stop(by: deadline) }
        spansWakeup.signal()
        metricsWakeup.signal()
        let tasks = running.withLock { $0 }
        let ended = Wakeup()
        let all = Task {
            for task in tasks { await task.value }
            ended.signal()
        }
        // An export under way ends by its own limit, which may be later.
        await ended.wait(atMost: limit)
        all.cancel()
    }

    private func exportSpans() async {
        var isFailing = false
        while true {
            let now = uptime.elapsed()
            switch spans.withLock({ $0.next(at: now) }) {
            case .end: return
            case .wait(let time): await spansWakeup.wait(atMost: time)
            case .send(let batch, let timeout):
                let response = await send(.traces, resource.body(batch), timeout)
                let now = uptime.elapsed()
                spans.withLock { $0.finish(response, at: now, random) }
                note(response, of: .traces, &isFailing)
            }
        }
    }

    private func exportMetrics(of registry: MetricsRegistry) async {
        var isFailing = false
        var retry = RetryDelay()
        var due = uptime.elapsed() + metricsInterval
        while true {
            let isLast = isStopping.isSet
            let now = uptime.elapsed()
            guard isLast || now >= due else {
                await metricsWakeup.wait(atMost: due - now)
                continue
            }
            let body = resource.body(registry.readings(), since: start, at: Self.now())
            let response = await send(.metrics, body, Self.timeout)
            note(response, of: .metrics, &isFailing)
            if isLast { return }
            var pause = metricsInterval
            switch response {
            case .accepted: retry.reset()
            case .refused: pause = max(pause, retry.next(after: nil, random))
            // The next export has everything that this one has.
            case .unavailable(let retryAfter, _): pause = max(pause, retry.next(after: retryAfter, random))
            }
            due = uptime.elapsed() + pause
        }
    }

    /// Counts an export. The log says once that the exports of a signal fail, and once that they work again.
    private func note(_ response: ReceiverResponse, of signal: TelemetrySignal, _ isFailing: inout Bool) {
        let (outcome, reason): (Int, String?) =
            switch response {
            case .accepted: (0, nil)
            case .refused(let reason): (1, reason)
            case .unavailable(_, let reason): (2, reason)
            }
        exports.add(at: signal == .traces ? 0 : 1, outcome)
        defer { isFailing = reason != nil }
        if let reason, !isFailing {
            logger.warning(
                "telemetry cannot be exported; what does not fit into memory is dropped",
                metadata: ["signal": "\(signal.rawValue)", "reason": "\(reason)"])
        } else if reason == nil, isFailing {
            logger.info("telemetry is exported again", metadata: ["signal": "\(signal.rawValue)"])
        }
    }

    private static func now() -> UInt64 { DefaultTracerClock.now.nanosecondsSinceEpoch }
}

extension TelemetryExporter {
    private static func makeExports() -> Counter {
        Counter(
            "latchkey_telemetry_exports_total", "Exports to the OTLP receiver.",
            by: [
                LabelValues("signal", TelemetrySignal.allCases.map(\.rawValue), "`traces` or `metrics`"),
                LabelValues(
                    "outcome", ["ok", "refused", "failed"],
                    "`ok`; `refused` by the receiver for good; `failed`, to be sent again"),
            ])
    }

    /// The metrics of an exporter; without one they have no values.
    package static func metrics(of exporter: TelemetryExporter?) -> [any Metric] {
        [
            exporter?.exports ?? makeExports(),
            SampledMetric(
                "latchkey_telemetry_spans_total", "Recorded spans that are no longer kept.",
                by: .init(
                    "outcome",
                    "`exported`; `displaced` by newer ones when too many waited; `refused` by the receiver; `failed`, "
                        + "dropped after five attempts; `unsent` at the end of the process")
            ) {
                guard let counts = exporter?.counts else { return [] }
                return [
                    ("exported", counts.exported), ("displaced", counts.displaced), ("refused", counts.refused),
                    ("failed", counts.failed), ("unsent", counts.unsent),
                ]
            },
            SampledMetric(
                "latchkey_telemetry_spans_waiting", .gauge, "Spans that wait for their export.",
                { exporter.map { Double($0.waiting) } }),
        ]
    }
}

package enum TelemetrySignal: String, Sendable, CaseIterable {
    case traces, metrics
}

/// Posts an export, which is JSON, to the receiver, within a time for the whole exchange. It does not throw: without a
/// response the export is ``ReceiverResponse/unavailable(retryAfter:reason:)``.
package typealias TelemetrySender =
    @Sendable (TelemetrySignal, _ body: [UInt8], _ timeout: Duration) async -> ReceiverResponse
