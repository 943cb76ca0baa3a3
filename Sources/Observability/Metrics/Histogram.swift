/// Counts durations in buckets, by up to three labels with fixed values.
package final class Histogram: Metric {
    /// Upper bounds in nanoseconds, from half a millisecond to ten seconds.
    package static let latencies: [UInt64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    package let description: MetricDescription
    private let space: LabelSpace
    private let bounds: [UInt64]
    /// For each combination: a cell for each bound, one beyond the last bound, and one for the sum.
    private let cells: Cells
    private let width: Int
    private let common: [(name: String, value: String)]

    package convenience init(
        _ name: String, _ help: String, by dimensions: [LabelValues] = [], bounds: [UInt64] = Histogram.latencies
    ) {
        self.init(
            MetricDescription(name, .histogram, help, labels: dimensions.map(\.label)), common: [], by: dimensions,
            bounds: bounds)
    }

    /// A histogram of a row, whose labels precede its own.
    init(
        _ description: MetricDescription, common: [(name: String, value: String)], by dimensions: [LabelValues],
        bounds: [UInt64] = Histogram.latencies
    ) {
        self.description = description
        self.bounds = bounds
        self.common = common
        space = LabelSpace(dimensions)
        width = bounds.count + 2
        cells = Cells(space.size * width)
    }

    /// Counts a duration. Label values are given by index, as in ``Counter/add(_:at:_:_:)``.
    package func observe(_ nanoseconds: UInt64, at first: Int = 0, _ second: Int = 0, _ third: Int = 0) {
        let start = space.number(first, second, third) * width
        var bucket = 0
        while bucket < bounds.count, nanoseconds > bounds[bucket] { bucket += 1 }
        cells.add(1, at: start + bucket)
        cells.add(nanoseconds, at: start + width - 1)
    }

    /// The count and the sum in nanoseconds of a combination.
    package func total(at first: Int = 0, _ second: Int = 0, _ third: Int = 0) -> (count: UInt64, nanoseconds: UInt64) {
        let start = space.number(first, second, third) * width
        let count = (0..<width - 1).reduce(UInt64(0)) { $0 &+ cells.value(at: start + $1) }
        return (count, cells.value(at: start + width - 1))
    }

    package func write(to page: inout MetricsPage) {
        for number in 0..<space.size {
            let start = number * width
            let buckets = (0..<width - 1).map { cells.value(at: start + $0) }
            let count = buckets.reduce(0, &+)
            guard count > 0 || space.dimensions.isEmpty && common.isEmpty else { continue }
            let labels = common + space.labels(of: number)
            var sum: UInt64 = 0
            for (index, value) in buckets.enumerated() {
                sum &+= value
                let bound = index < bounds.count ? MetricsPage.seconds(bounds[index]) : "+Inf"
                page.sample("_bucket", labels, last: ("le", bound), String(sum))
            }
            page.sample("_sum", labels, MetricsPage.seconds(cells.value(at: start + width - 1)))
            page.sample("_count", labels, String(count))
        }
    }
}
