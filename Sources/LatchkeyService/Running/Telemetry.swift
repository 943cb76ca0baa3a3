import LatchkeyConfiguration
import Logging
import Observability
import OpenIDConnect
import OutboundHTTP
import Primitives
import TelemetryExport

/// The export of spans and metrics to `telemetry.otlp_endpoint`.
///
/// It has an HTTP client of its own: a receiver that hangs takes no connection, no place in a queue and no thread of
/// the requests to carriers.
struct Telemetry: Sendable {
    /// How long the last exports may delay the end of the process.
    static let lastExport = Duration.seconds(3)

    let exporter: TelemetryExporter
    let tracer: ExportTracer
    private let client: OutboundHTTPClient
    private let endpoint: EndpointURL
    private let logger: Logger

    /// - Returns: Nil without an endpoint.
    /// - Throws: ``LatchkeyStartError`` if the client cannot start.
    init?(_ configuration: Configuration, clock: WallClock, logger: Logger) throws {
        let settings = configuration.telemetry
        guard let endpoint = settings.endpoint else { return nil }
        let client = try LatchkeyService.makeClient(configuration.telemetryHTTP(endpoint))
        let receiver = TelemetryReceiver(
            client: client, endpoint: endpoint, headers: settings.headers.map { ($0.name, $0.value.exposed) },
            clock: clock)
        let exporter = TelemetryExporter(
            TelemetryResource(serviceName: settings.serviceName, version: LatchkeyVersion.text),
            metricsInterval: settings.metricsInterval, logger: logger
        ) { await receiver.post($0) }
        self.client = client
        self.endpoint = endpoint
        self.logger = logger
        self.exporter = exporter
        tracer = ExportTracer(sampler: SpanSampler(ratio: settings.sampleRatio)) { exporter.add($0) }
    }

    /// Begins to export, and logs where.
    func start(_ registry: MetricsRegistry) {
        logger.info("telemetry is exported", metadata: ["endpoint": "\(endpoint.text)"])
        exporter.run(registry)
    }

    func shutdown() async {
        await exporter.stop(within: Self.lastExport)
        await client.shutdown()
    }
}

/// Posts exports as OpenTelemetry's protocol over HTTP demands: JSON, to a path for each signal.
private struct TelemetryReceiver: Sendable {
    /// The longest response that is read.
    private static let responseBytes = 64 * 1024

    let client: OutboundHTTPClient
    let endpoint: EndpointURL
    let headers: [(name: String, value: String)]
    let clock: WallClock

    func post(_ export: TelemetryRequest) async -> ReceiverResponse {
        let request = OutboundRequest(
            method: .post, url: endpoint.appending(path: "/v1/\(export.signal.rawValue)"),
            headers: [("Content-Type", "application/json")] + headers, body: export.body, timeout: export.timeout,
            maximumBodyBytes: Self.responseBytes)
        do throws(OutboundError) {
            let response = try await client.send(request)
            return ReceiverResponse(
                status: response.status, retryAfter: response.retryAfter, body: response.body, now: clock.now())
        } catch {
            return .unavailable(retryAfter: nil, reason: error.reason)
        }
    }
}

extension Configuration {
    /// The operator names the receiver, so it may be on this machine or in a private network. `outbound.proxy` is used
    /// for other machines.
    fileprivate func telemetryHTTP(_ endpoint: EndpointURL) -> OutboundHTTPConfiguration {
        var configuration = outboundHTTP
        configuration.perHostConnections = 2
        configuration.maximumIdleConnections = 2
        configuration.addressPolicy = AddressPolicy(allowLoopback: true, allowPrivateNetworks: true)
        configuration.allowLoopbackHTTP = true
        if endpoint.isLoopback { configuration.proxy = nil }
        return configuration
    }
}
