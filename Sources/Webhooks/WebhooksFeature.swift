package import ArgumentParser
package import LatchkeyConfiguration
package import LatchkeyService
package import Observability
import OutboundHTTP
package import Primitives
package import StorageModel
import Synchronization

/// Signed events of accounts and sessions for other systems (Standard Webhooks).
///
/// It has its own HTTP client: a receiver that hangs takes no connection and no place in a queue of the requests to
/// providers.
package final class WebhooksFeature: Feature {
    private let endpoints: [WebhookEndpoint]
    private let workers: [WebhookWorker]
    private let messages: Counter
    private let client: OutboundHTTPClient
    private let context: FeatureContext
    private let running = Mutex<[Task<Void, Never>]>([])

    package init?(_ settings: WebhookSettings, in context: FeatureContext) throws {
        guard !settings.endpoints.isEmpty else { return nil }
        var outbound = context.configuration.outboundHTTP
        outbound.perHostConnections = WebhookQueue.Limits().inFlight * settings.endpoints.count
        outbound.maximumIdleConnections = outbound.perHostConnections
        let client = try LatchkeyService.makeClient(outbound)
        let messages = Self.makeCounter(of: settings.endpoints)
        let environment = WebhookWorker.Environment(
            store: context.store, clock: context.clock, logger: context.logger
        ) { request throws(OutboundError) in try await client.send(request) }
        workers = settings.endpoints.enumerated().map { index, endpoint in
            WebhookWorker(endpoint, retention: context.configuration.auditRetention, in: environment) {
                messages.add($1, at: index, WebhookWorker.Outcome.allCases.firstIndex(of: $0) ?? 0)
            }
        }
        endpoints = settings.endpoints
        self.messages = messages
        self.client = client
        self.context = context
    }

    package static var commands: [any ParsableCommand.Type] { [WebhooksCommand.self] }

    package func start() {
        running.withLock { $0 = workers.map { worker in Task { await worker.run() } } }
    }

    package func shutdown() async {
        let tasks = running.withLock { $0 }
        for task in tasks { task.cancel() }
        // Ends requests on their way, which are repeated after the next start.
        await client.shutdown()
        for task in tasks { await task.value }
    }

    /// An endpoint that is configured is held by a server.
    package func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await context.store.purgeWebhooks(
            before: now.advanced(bySeconds: -context.configuration.auditRetention.components.seconds))
    }

    package static func metrics(of feature: WebhooksFeature?) -> [any Metric] {
        [
            feature?.messages ?? makeCounter(of: []),
            gauge("latchkey_webhook_waiting_users", "Users with an event that an endpoint has not taken.", feature) {
                Double($0.waitingUsers)
            },
            gauge(
                "latchkey_webhook_delay_seconds", "For how long the oldest event has waited for an endpoint.", feature
            ) { [clock = feature?.context.clock] figures in
                figures.oldest.flatMap { oldest in clock.map { Double(max(0, $0.now().seconds(since: oldest))) } } ?? 0
            },
        ]
    }

    private static let label = MetricDescription.Label("endpoint", "the endpoint's name")

    /// Has a value at the instance that delivers.
    private static func gauge(
        _ name: String, _ help: String, _ feature: WebhooksFeature?,
        _ value: @escaping @Sendable (WebhookWorker.Figures) -> Double
    ) -> SampledMetric {
        SampledMetric(MetricDescription(name, .gauge, help, labels: [label])) {
            guard let feature else { return [] }
            return zip(feature.endpoints, feature.workers.map(\.figures)).filter(\.1.isHeld).map { endpoint, figures in
                SampledMetric.Sample(value(figures), [endpoint.name])
            }
        }
    }

    private static func makeCounter(of endpoints: [WebhookEndpoint]) -> Counter {
        Counter(
            "latchkey_webhook_events_total", "Events for other systems.",
            by: [
                LabelValues("endpoint", endpoints.map(\.name), label.meaning),
                LabelValues(
                    "outcome", WebhookWorker.Outcome.allCases.map(\.rawValue),
                    "`delivered`; `failed`, to be sent again; `dropped`, because it became too old"),
            ])
    }

    /// Whether each receiver can be reached. Asks it with GET, which is no event.
    package static func examine(_ configuration: Configuration, _ http: any HTTPClient) async -> [FeatureFinding] {
        var findings: [FeatureFinding] = []
        for endpoint in configuration[WebhookSettings.self].endpoints {
            let request = OutboundRequest(
                method: .get, url: endpoint.url, timeout: .seconds(5), maximumBodyBytes: 64 * 1024)
            do throws(OutboundError) {
                let status = try await http.send(request).status
                findings.append(("webhook \(endpoint.name)", "the receiver can be reached (\(status) for GET)", nil))
            } catch  where error.code == .tooLarge {
                findings.append(("webhook \(endpoint.name)", "the receiver can be reached", nil))
            } catch {
                let remedy =
                    error.code == .addressRefused
                    ? "set outbound.allow_private_networks if the receiver is in a private network"
                    : "check the url, DNS and the receiver"
                findings.append(("webhook \(endpoint.name)", "cannot be reached (\(error.reason))", remedy))
            }
        }
        return findings
    }
}
