/// Counts by up to three labels with fixed values. A combination that was never counted has no point, except for a
/// counter without labels, or one that starts at zero.
public final class Counter: Metric {
    private let family: MetricFamily
    private let cells: Cells
    private let startsAtZero: Bool

    /// Counts nothing yet.
    /// - Parameter startsAtZero: Whether every combination has a point from the start, so that a rate sees its first
    ///   count. For few combinations.
    public convenience init(
        _ name: String, _ help: String, by dimensions: [LabelValues] = [], startsAtZero: Bool = false
    ) {
        self.init(MetricFamily(name, .counter, help, by: dimensions), startsAtZero: startsAtZero)
    }

    package init(_ family: MetricFamily, startsAtZero: Bool = false) {
        self.family = family
        self.startsAtZero = startsAtZero || family.description.labels.isEmpty
        cells = Cells(family.size)
    }

    /// The name, the meaning and the labels.
    public var description: MetricDescription { family.description }

    /// Counts. Label values are given by index; an index out of range is the last.
    public func add(_ amount: UInt64 = 1, at first: Int = 0, _ second: Int = 0, _ third: Int = 0) {
        cells.add(amount, at: family.number(first, second, third))
    }

    package func value(at first: Int = 0, _ second: Int = 0, _ third: Int = 0) -> UInt64 {
        cells.value(at: family.number(first, second, third))
    }

    /// The counts.
    public var points: [MetricPoint] {
        family.points { number in
            let value = cells.value(at: number)
            return value > 0 || startsAtZero ? .count(value) : nil
        }
    }
}
