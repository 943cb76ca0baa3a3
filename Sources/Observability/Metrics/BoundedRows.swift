import Synchronization

/// Metrics whose first labels are not known when the process starts, such as carriers: a row for each that is met, so many
/// at most. All that are met when there is no room count in one more row, whose labels say `other`.
public final class BoundedRows<Key: Hashable & Sendable, Row: Sendable>: Sendable {
    private struct State {
        var rows: [Key: Row] = [:]
        var inOrder: [Row] = []
    }

    private let capacity: Int
    private let make: @Sendable (Key) -> Row
    private let other: Row
    private let state = Mutex(State())

    /// - Parameter make: A row of the key, which the first that counts in it calls.
    public init(capacity: Int, other: Row, make: @escaping @Sendable (Key) -> Row) {
        self.capacity = capacity
        self.other = other
        self.make = make
    }

    /// The row of a key: made if there is none and there is room.
    public subscript(key: Key) -> Row {
        state.withLock { state in
            if let row = state.rows[key] { return row }
            guard state.rows.count < capacity else { return other }
            let row = make(key)
            state.rows[key] = row
            state.inOrder.append(row)
            return row
        }
    }

    /// Whether a key has a row.
    public func has(_ key: Key) -> Bool { state.withLock { $0.rows[key] != nil } }

    /// All rows, in the order in which they were made, and that of all others.
    public var all: [Row] { state.withLock { $0.inOrder } + [other] }
}

/// A family of which ``BoundedRows`` hold the parts.
public struct RowsMetric<Key: Hashable & Sendable, Row: Sendable>: Metric {
    public let description: MetricDescription
    private let rows: BoundedRows<Key, Row>
    private let part: @Sendable (Row) -> any Metric

    public init(
        _ description: MetricDescription, in rows: BoundedRows<Key, Row>,
        _ part: @escaping @Sendable (Row) -> any Metric
    ) {
        self.description = description
        self.rows = rows
        self.part = part
    }

    public func write(to page: inout MetricsPage) {
        for row in rows.all { part(row).write(to: &page) }
    }
}

/// The description and fixed labels of a metric of which there is one for each row.
public struct RowTemplate: Sendable {
    public let description: MetricDescription
    private let rowLabels: [MetricDescription.Label]
    private let dimensions: [LabelValues]

    public init(
        _ name: String, _ kind: MetricDescription.Kind, _ help: String, rows: [MetricDescription.Label],
        by dimensions: [LabelValues]
    ) {
        description = MetricDescription(name, kind, help, labels: rows + dimensions.map(\.label))
        rowLabels = rows
        self.dimensions = dimensions
    }

    /// - Parameter values: Of the row's labels, in their order.
    public func counter(_ values: [String]) -> Counter {
        Counter(description, common: common(values), by: dimensions)
    }

    public func histogram(_ values: [String]) -> Histogram {
        Histogram(description, common: common(values), by: dimensions)
    }

    private func common(_ values: [String]) -> [(name: String, value: String)] {
        zip(rowLabels, values).map { ($0.name, $1) }
    }
}
