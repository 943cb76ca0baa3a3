import Synchronization

package final class MetricsRegistry: Sendable {
    private let metrics = Mutex<[any Metric]>([])

    package init() {}

    /// Adds metrics; a metric whose name exists is left out.
    package func add(_ new: [any Metric]) {
        metrics.withLock { metrics in
            for metric in new where !metrics.contains(where: { $0.description.name == metric.description.name }) {
                metrics.append(metric)
            }
        }
    }

    /// Sorted by name.
    package var descriptions: [MetricDescription] { sorted.map(\.description) }

    /// The current values of all metrics in Prometheus' text format.
    package func page() -> [UInt8] {
        var page = MetricsPage()
        for reading in readings() { page.add(reading) }
        return page.bytes
    }

    /// The current values of the metrics that have any, sorted by name.
    package func readings() -> [MetricReading] {
        sorted.map { MetricReading(description: $0.description, points: $0.points) }.filter { !$0.points.isEmpty }
    }

    private var sorted: [any Metric] {
        metrics.withLock { $0 }.sorted { $0.description.name < $1.description.name }
    }
}
