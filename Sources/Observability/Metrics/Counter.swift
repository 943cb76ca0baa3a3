/// Counts by up to three labels with fixed values. A combination that was never counted has no point, except for a
/// counter without labels, or one that starts at zero.
package final class Counter: Metric {
    package let description: MetricDescription
    private let space: LabelSpace
    private let cells: Cells
    /// The labels of the row in ``BoundedRows``.
    private let common: [(name: String, value: String)]
    private let startsAtZero: Bool

    /// - Parameter startsAtZero: Whether every combination has a point from the start, so that a rate sees its first
    ///   count. For few combinations.
    package convenience init(
        _ name: String, _ help: String, by dimensions: [LabelValues] = [], startsAtZero: Bool = false
    ) {
        self.init(
            MetricDescription(name, .counter, help, labels: dimensions.map(\.label)), common: [], by: dimensions,
            startsAtZero: startsAtZero || dimensions.isEmpty)
    }

    /// A counter of a row, whose labels precede its own.
    init(
        _ description: MetricDescription, common: [(name: String, value: String)], by dimensions: [LabelValues],
        startsAtZero: Bool = false
    ) {
        self.description = description
        self.common = common
        self.startsAtZero = startsAtZero
        space = LabelSpace(dimensions)
        cells = Cells(space.size)
    }

    /// Counts. Label values are given by index; an index out of range is the last.
    package func add(_ amount: UInt64 = 1, at first: Int = 0, _ second: Int = 0, _ third: Int = 0) {
        cells.add(amount, at: space.number(first, second, third))
    }

    package func value(at first: Int = 0, _ second: Int = 0, _ third: Int = 0) -> UInt64 {
        cells.value(at: space.number(first, second, third))
    }

    package var points: [MetricPoint] {
        (0..<space.size).compactMap { number in
            let value = cells.value(at: number)
            guard value > 0 || startsAtZero else { return nil }
            return MetricPoint(.count(value), common + space.labels(of: number))
        }
    }
}
