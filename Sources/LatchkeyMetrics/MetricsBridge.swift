public import CoreMetrics
public import LatchkeyService
package import Observability

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

/// What a factory of swift-metrics was told so far.
///
/// A counter gets the difference to the last reading. A gauge gets the value, and is destroyed when the reading no
/// longer has it. swift-metrics has no metric that takes the counts of buckets, so a histogram becomes the counters of
/// Prometheus' text format: `…_bucket` with the label `le`, `…_count` and `…_sum`.
package struct PassedMetrics {
    /// A name and labels.
    private struct Series: Hashable {
        let name: String
        let labels: [[String]]

        init(_ name: String, _ labels: [(String, String)]) {
            self.name = name
            self.labels = labels.map { [$0.0, $0.1] }
        }
    }

    private let factory: any MetricsFactory
    private var counters: [Series: (counter: CoreMetrics.Counter, count: UInt64)] = [:]
    /// Sums of durations, with the nanoseconds that were passed on.
    private var sums: [Series: (counter: FloatingPointCounter, nanoseconds: UInt64)] = [:]
    private var gauges: [Series: Meter] = [:]

    package init(factory: any MetricsFactory) { self.factory = factory }

    /// Passes readings on. They are all of the metrics that have values.
    package mutating func update(_ readings: [MetricReading]) {
        var present: Set<Series> = []
        for reading in readings {
            let name = reading.description.name
            for point in reading.points {
                switch (reading.description.kind, point.value) {
                case (.gauge, .count(let count)): present.insert(set(name, point.labels, Double(count)))
                case (.gauge, .number(let number)): present.insert(set(name, point.labels, number))
                case (_, .count(let count)): add(name, point.labels, count)
                case (_, .number(let number)): add(name, point.labels, UInt64(exactly: number.rounded(.down)) ?? 0)
                case (_, .durations(let buckets, let bounds, let sum)):
                    addDurations(name, point.labels, buckets, bounds, sum)
                }
            }
        }
        for (series, gauge) in gauges where !present.contains(series) {
            gauge.destroy()
            gauges[series] = nil
        }
    }

    /// - Returns: The gauge's series.
    private mutating func set(_ name: String, _ labels: [(String, String)], _ value: Double) -> Series {
        let series = Series(name, labels)
        let gauge = gauges[series] ?? Meter(label: name, dimensions: labels, factory: factory)
        gauges[series] = gauge
        gauge.set(value)
        return series
    }

    /// - Parameter count: From the start of the service.
    private mutating func add(_ name: String, _ labels: [(String, String)], _ count: UInt64) {
        let series = Series(name, labels)
        let (counter, before) =
            counters[series] ?? (CoreMetrics.Counter(label: name, dimensions: labels, factory: factory), 0)
        // Of two updates at the same time, the later one can have the older reading.
        if count > before { counter.increment(by: Int64(clamping: count - before)) }
        counters[series] = (counter, max(before, count))
    }

    private mutating func addDurations(
        _ name: String, _ labels: [(String, String)], _ buckets: [UInt64], _ bounds: [UInt64], _ sum: UInt64
    ) {
        var count: UInt64 = 0
        for (index, value) in buckets.enumerated() {
            count &+= value
            let bound = index < bounds.count ? MetricsPage.seconds(bounds[index]) : "+Inf"
            add(name + "_bucket", labels + [("le", bound)], count)
        }
        add(name + "_count", labels, count)
        let series = Series(name + "_sum", labels)
        let (counter, before) =
            sums[series] ?? (FloatingPointCounter(label: name + "_sum", dimensions: labels, factory: factory), 0)
        if sum > before { counter.increment(by: Double(sum - before) / 1e9) }
        sums[series] = (counter, max(before, sum))
    }
}
