import LatchkeyConfiguration
package import LatchkeyService
import Logging
package import Observability
import OutboundHTTP
import Primitives
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
        let client = try context.makeClient {
            $0.perHostConnections = 2
            $0.maximumIdleConnections = 2
            $0.addressPolicy = AddressPolicy(allowLoopback: true, allowPrivateNetworks: true)
            $0.allowLoopbackHTTP = true
            if endpoint.isLoopback { $0.proxy = nil }
        }
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
        spans = ExportTracer(sampler: SpanSampler(ratio: settings.sampleRatio)) { exporter.add($0) }
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
