/// Counts durations in buckets, by up to three labels with fixed values.
package final class Histogram: Metric {
    /// Upper bounds in nanoseconds, from half a millisecond to ten seconds.
    package static let latencies: [UInt64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    private let family: MetricFamily
    private let bounds: [UInt64]
    /// For each combination: a cell for each bound, one beyond the last bound, and one for the sum.
    private let cells: Cells
    private let width: Int

    package convenience init(
        _ name: String, _ help: String, by dimensions: [LabelValues] = [], bounds: [UInt64] = Histogram.latencies
    ) {
        self.init(MetricFamily(name, .histogram, help, by: dimensions), bounds: bounds)
    }

    package init(_ family: MetricFamily, bounds: [UInt64] = Histogram.latencies) {
        self.family = family
        self.bounds = bounds
        width = bounds.count + 2
        cells = Cells(family.size * width)
    }

    package var description: MetricDescription { family.description }

    /// Counts a duration. Label values are given by index, as in ``Counter/add(_:at:_:_:)``.
    package func observe(_ nanoseconds: UInt64, at first: Int = 0, _ second: Int = 0, _ third: Int = 0) {
        let start = family.number(first, second, third) * width
        var bucket = 0
        while bucket < bounds.count, nanoseconds > bounds[bucket] { bucket += 1 }
        cells.add(1, at: start + bucket)
        cells.add(nanoseconds, at: start + width - 1)
    }

    /// The count and the sum in nanoseconds of a combination.
    package func total(at first: Int = 0, _ second: Int = 0, _ third: Int = 0) -> (count: UInt64, nanoseconds: UInt64) {
        let start = family.number(first, second, third) * width
        let count = (0..<width - 1).reduce(UInt64(0)) { $0 &+ cells.value(at: start + $1) }
        return (count, cells.value(at: start + width - 1))
    }

    package var points: [MetricPoint] {
        family.points { number in
            let start = number * width
            let buckets = (0..<width - 1).map { cells.value(at: start + $0) }
            guard buckets.contains(where: { $0 > 0 }) || description.labels.isEmpty else { return nil }
            return .durations(buckets: buckets, bounds: bounds, sum: cells.value(at: start + width - 1))
        }
    }
}
