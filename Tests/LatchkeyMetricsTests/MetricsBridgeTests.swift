import CoreMetrics
import HTTPServer
import LatchkeyConfiguration
import LatchkeyMetrics
import LatchkeyService
import MetricsTestKit
import Observability
import OpenIDConnect
import Primitives
import TestSupport
import Testing

@Suite("The bridge to swift-metrics")
struct MetricsBridgeTests {
    private let factory = TestMetrics()

    private func withService(_ body: (LatchkeyService, UInt16) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        var configuration = Configuration()
        configuration.database.url = DatabaseURL(path: directory.path + "/latchkey.db")
        configuration.zenkey.discoveryURL = .init("https://discovery.invalid/", policy: .httpsOnly)
        configuration.log.level = .off
        configuration.http.port = 0
        let service = try LatchkeyService(configuration: configuration, features: FeatureList([]))
        let port = try #require(try service.start().first?.port)
        try await body(service, port)
        await service.shutdown(within: .zero)
    }

    @Test("All metrics of the service arrive with their names and labels, and none of the process")
    func arrive() async throws {
        try await withService { service, port in
            let bridge = MetricsBridge(service, factory: factory)
            let client = try await RawClient(port: port)
            for count in 1...2 as ClosedRange<Int64> {
                try await client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await client.readResponse().status == 200)
                await bridge.update()
                let labels = [("route", "/healthz"), ("method", "GET"), ("status", "200")]
                #expect(try factory.expectCounter("latchkey_http_requests_total", labels).totalValue == count)
            }
            #expect(try factory.expectMeter("latchkey_http_connections").lastValue == 1)
            let told = Set(factory.counters.map(\.label) + factory.meters.map(\.label))
            for reading in await service.metricReadings() {
                let description = reading.description
                let name = description.name + (description.kind == .histogram ? "_count" : "")
                #expect(told.contains(name) == name.hasPrefix("latchkey_"), "\(name)")
            }
        }
    }

    @Test("The bridge updates until its task is cancelled, and once more then")
    func run() async throws {
        try await withService { service, port in
            let metrics = Task { [factory] in await MetricsBridge(service, factory: factory).run(every: .seconds(3600))
            }
            try await until { (try? factory.expectMeter("latchkey_http_connections")) != nil }
            let client = try await RawClient(port: port)
            try await client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.readResponse().status == 200)
            metrics.cancel()
            await metrics.value
            #expect(factory.counterTotal(label: "latchkey_http_requests_total") == 1)
            #expect(factory.meters.isEmpty)
        }
    }

    @Test("The example of docs/observability.md runs")
    func document() async throws {
        try await withService { service, _ in
            // snippet: metrics-bridge
            let bridge = MetricsBridge(service)
            let metrics = Task { await bridge.run() }
            // end
            metrics.cancel()
            await metrics.value
        }
    }
}
