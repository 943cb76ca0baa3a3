public import CoreMetrics
public import LatchkeyService
import Observability

/// Passes the metrics of a service on to swift-metrics, with the names and labels of docs/observability.md.
///
/// The figures of the process (`process_…`) are left out: the process belongs to the program that embeds the service.
public actor MetricsBridge {
    private let service: LatchkeyService
    private var passed: PassedMetrics

    /// - Parameter factory: By default the factory of `MetricsSystem.bootstrap`.
    public init(_ service: LatchkeyService, factory: any MetricsFactory = MetricsSystem.factory) {
        self.service = service
        passed = PassedMetrics(factory: factory)
    }

    /// Updates the metrics again and again until the task is cancelled. Then it updates them once more and removes the
    /// gauges.
    public func run(every interval: Duration = .seconds(10)) async {
        while !Task.isCancelled {
            await update()
            try? await Task.sleep(for: interval)
        }
        await update()
        // Nothing has the values of the gauges any more.
        passed.update([])
    }

    /// Passes on what changed since the last update.
    public func update() async {
        let readings = await service.metricReadings()
        passed.update(readings.filter { $0.description.name.hasPrefix("latchkey_") })
    }
}
