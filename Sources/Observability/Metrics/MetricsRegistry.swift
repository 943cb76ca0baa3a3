import Synchronization

/// All metrics of a process.
public final class MetricsRegistry: Sendable {
    private let metrics = Mutex<[any Metric]>([])

    public init() {}

    /// Adds metrics; one of a name that is there already is left out.
    public func add(_ new: [any Metric]) {
        metrics.withLock { metrics in
            for metric in new where !metrics.contains(where: { $0.description.name == metric.description.name }) {
                metrics.append(metric)
            }
        }
    }

    /// By their names.
    public var descriptions: [MetricDescription] { sorted.map(\.description) }

    /// All of them as they are now.
    public func page() -> [UInt8] {
        var page = MetricsPage()
        for metric in sorted {
            page.begin(metric.description)
            metric.write(to: &page)
        }
        return page.bytes
    }

    private var sorted: [any Metric] {
        metrics.withLock { $0 }.sorted { $0.description.name < $1.description.name }
    }
}
