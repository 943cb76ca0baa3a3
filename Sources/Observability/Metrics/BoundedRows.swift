public import Synchronization

/// Metrics whose first labels are unknown at the start, such as providers: one row for each, up to a capacity. All
/// others share a row with the labels `other`.
///
/// The look-up is inlinable, because another module does it for each sign-in and would otherwise not specialise it.
@usableFromInline
package final class BoundedRows<Key: Hashable & Sendable, Row: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var rows: [Key: Row] = [:]
        @usableFromInline var inOrder: [Row] = []

        @usableFromInline
        init() {}
    }

    @usableFromInline let capacity: Int
    @usableFromInline let make: @Sendable (Key) -> Row
    @usableFromInline let other: Row
    @usableFromInline let state = Mutex(State())

    /// - Parameter make: Makes the row of a key at its first use.
    package init(capacity: Int, other: Row, make: @escaping @Sendable (Key) -> Row) {
        self.capacity = capacity
        self.other = other
        self.make = make
    }

    /// The row of a key, made if there is none and the capacity allows it.
    @inlinable
    package subscript(key: Key) -> Row {
        state.withLock { state in
            if let row = state.rows[key] { return row }
            guard state.rows.count < capacity else { return other }
            let row = make(key)
            state.rows[key] = row
            state.inOrder.append(row)
            return row
        }
    }

    package func has(_ key: Key) -> Bool { state.withLock { $0.rows[key] != nil } }

    /// All rows in the order in which they were made, then the row of all others.
    package var all: [Row] { state.withLock { $0.inOrder } + [other] }
}

/// A metric family whose parts are in ``BoundedRows``.
package struct RowsMetric<Key: Hashable & Sendable, Row: Sendable>: Metric {
    package let description: MetricDescription
    private let rows: BoundedRows<Key, Row>
    private let part: @Sendable (Row) -> any Metric

    package init(
        _ description: MetricDescription, in rows: BoundedRows<Key, Row>,
        _ part: @escaping @Sendable (Row) -> any Metric
    ) {
        self.description = description
        self.rows = rows
        self.part = part
    }

    package var points: [MetricPoint] { rows.all.flatMap { part($0).points } }
}

/// The description and fixed labels of a metric that each row has.
package struct RowTemplate: Sendable {
    package let description: MetricDescription
    private let rowLabels: [MetricDescription.Label]
    private let dimensions: [LabelValues]

    package init(
        _ name: String, _ kind: MetricDescription.Kind, _ help: String, rows: [MetricDescription.Label],
        by dimensions: [LabelValues]
    ) {
        description = MetricDescription(name, kind, help, labels: rows + dimensions.map(\.label))
        rowLabels = rows
        self.dimensions = dimensions
    }

    /// - Parameter values: The values of the row's labels, in their order.
    package func counter(_ values: [String]) -> Counter {
        Counter(description, common: common(values), by: dimensions)
    }

    package func histogram(_ values: [String]) -> Histogram {
        Histogram(description, common: common(values), by: dimensions)
    }

    private func common(_ values: [String]) -> [(name: String, value: String)] {
        zip(rowLabels, values).map { ($0.name, $1) }
    }
}
