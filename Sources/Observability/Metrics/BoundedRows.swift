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
    package init(capacity: Int, other: Key, make: @escaping @Sendable (Key) -> Row) {
        self.capacity = capacity
        self.other = make(other)
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

    /// The metric whose parts are in the rows.
    /// - Parameter part: The counter or the histogram of a row.
    package func metric(_ family: MetricFamily, _ part: @escaping @Sendable (Row) -> any Metric) -> SampledMetric {
        SampledMetric(family.description, points: { [self] in all.flatMap { part($0).points } })
    }
}
