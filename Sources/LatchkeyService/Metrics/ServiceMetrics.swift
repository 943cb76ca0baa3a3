import Dispatch
import HTTPServer
import LatchkeyAPI
import Observability
import OutboundHTTP
import Primitives

package final class ServiceMetrics: Sendable {
    let registry = MetricsRegistry()
    package let signIns = SignInMetrics()
    package let carriers = CarrierMetrics()
    let store = StoreMetrics()
    let loops = LoopProbe()
    /// Reads /proc, which takes too long for an event loop. One page at a time.
    private let queue = DispatchQueue(label: "metrics", qos: .utility)

    init(maximumDescriptors: Int) {
        registry.add(signIns.metrics)
        registry.add(ProcessFigures.metrics(maximumDescriptors: maximumDescriptors) + [loops.lag])
        registry.add([
            SampledMetric(
                MetricDescription(
                    "latchkey_build_info", .gauge, "1; the labels describe the program.",
                    labels: [.init("version", "the version")])
            ) { [.init(1, [LatchkeyVersion.text])] }
        ])
    }

    func page() async -> [UInt8] { await read { [registry] in registry.page() } }

    /// Runs off the event loops.
    package func read<Value: Sendable>(_ value: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { done in queue.async { done.resume(returning: value()) } }
    }

    func add(_ client: OutboundHTTPClient) {
        registry.add([
            SampledMetric(
                "latchkey_outbound_transfers", .gauge,
                "Outbound requests in progress or waiting for a connection.",
                { Double(client.exchangesInFlight) })
        ])
    }

    /// Adds the metrics of an API.
    /// - Returns: The observer of its requests.
    func add(_ api: LatchkeyAPI) -> RequestObserver {
        let requests = RequestMetrics(api.routePatterns)
        registry.add(requests.metrics)
        // Weak, because the API holds the registry.
        registry.add(ServerMetrics.metrics({ [weak api] in api?.load }))
        return { requests.count($0) }
    }

    func add(_ server: Server, _ certificates: CertificateRenewal?) {
        registry.add(ServerMetrics.metrics({ [weak server] in server?.statistics }))
        registry.add([
            SampledMetric(
                "latchkey_tls_certificate_expiry_timestamp_seconds", .gauge,
                "Expiry of the HTTPS certificate, in seconds since 1970; only with HTTPS.",
                { certificates.map { Double($0.tls.validity.upperBound.secondsSinceEpoch) } })
        ])
    }
}
