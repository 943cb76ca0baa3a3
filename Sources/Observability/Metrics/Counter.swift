/// Counts something, split up by up to three labels of fixed values. Combinations that were never counted are not written,
/// but for a counter without labels.
public final class Counter: Metric {
    public let description: MetricDescription
    private let space: LabelSpace
    private let cells: Cells
    /// Labels that all have in common, of the ``BoundedRows`` that this one is in.
    private let common: [(name: String, value: String)]

    public init(_ name: String, _ help: String, by dimensions: [LabelValues] = []) {
        description = MetricDescription(name, .counter, help, labels: dimensions.map(\.label))
        space = LabelSpace(dimensions)
        cells = Cells(space.size)
        common = []
    }

    /// One of a row: the row's labels stand before its own.
    init(_ description: MetricDescription, common: [(name: String, value: String)], by dimensions: [LabelValues]) {
        self.description = description
        self.common = common
        space = LabelSpace(dimensions)
        cells = Cells(space.size)
    }

    /// Counts. The values are named by their places among those of their label; a place beyond the last is the last.
    public func add(_ amount: UInt64 = 1, at first: Int = 0, _ second: Int = 0, _ third: Int = 0) {
        cells.add(amount, at: space.number(first, second, third))
    }

    /// What was counted at a combination.
    public func value(at first: Int = 0, _ second: Int = 0, _ third: Int = 0) -> UInt64 {
        cells.value(at: space.number(first, second, third))
    }

    public func write(to page: inout MetricsPage) {
        for number in 0..<space.size {
            let value = cells.value(at: number)
            guard value > 0 || space.dimensions.isEmpty && common.isEmpty else { continue }
            page.sample("", common + space.labels(of: number), String(value))
        }
    }
}
