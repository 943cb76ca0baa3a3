import Dispatch
import HTTPServer
import LatchkeyAPI
import Observability
import OpenIDConnect
import OutboundHTTP
import Primitives
import SignIn
import Storage
import StorageModel

/// All that a service counts, and what is told of that at `GET /metrics`.
final class ServiceMetrics: Sendable {
    let registry = MetricsRegistry()
    let signIns = SignInMetrics()
    let carriers = CarrierMetrics()
    let store = StoreMetrics()
    let loops = LoopProbe()
    /// Reads /proc, which takes too long for an event loop; one page at a time is enough for anybody.
    private let queue = DispatchQueue(label: "metrics", qos: .utility)

    /// - Parameter maximumDescriptors: How many may be open.
    init(maximumDescriptors: Int) {
        registry.add(signIns.metrics + ProcessFigures.metrics(maximumDescriptors: maximumDescriptors) + [loops.lag])
        registry.add([
            SampledMetric(
                MetricDescription(
                    "latchkey_build_info", .gauge, "1, and what is running.",
                    labels: [.init("version", "of this program")])
            ) { [.init(1, [LatchkeyVersion.text])] }
        ])
    }

    /// The metrics as they are now, in Prometheus' text format.
    func page() async -> [UInt8] {
        await withCheckedContinuation { done in
            queue.async { done.resume(returning: self.registry.page()) }
        }
    }

    /// Puts a status together where that holds up no event loop.
    func read(_ status: @escaping @Sendable () -> ServiceStatus) async -> ServiceStatus {
        await withCheckedContinuation { done in queue.async { done.resume(returning: status()) } }
    }

    func add(_ client: CurlHTTPClient) {
        registry.add([
            SampledMetric(
                "latchkey_outbound_transfers", .gauge,
                "Requests to providers that are under way or wait for a connection.",
                { Double(client.exchangesUnderWay) })
        ])
    }

    /// Counts the requests of an API from now on.
    /// - Returns: What has to be told of them.
    func add(_ api: LatchkeyAPI) -> RequestObserver {
        let requests = RequestMetrics(api.routePatterns)
        registry.add(requests.metrics)
        // Weak, because the API has the registry.
        registry.add(ServerMetrics.metrics({ [weak api] in api?.load }))
        return { requests.count($0) }
    }

    func add(_ server: Server, _ certificates: CertificateRenewal?) {
        registry.add(ServerMetrics.metrics({ [weak server] in server?.statistics }))
        registry.add([
            SampledMetric(
                "latchkey_tls_certificate_expiry_timestamp_seconds", .gauge,
                "When the certificate that HTTPS is served with expires, since 1970; only where HTTPS is served.",
                { certificates.map { Double($0.tls.validity.upperBound.secondsSinceEpoch) } })
        ])
    }
}
