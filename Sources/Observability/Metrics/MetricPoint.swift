/// The value of a metric for one combination of its labels.
package struct MetricPoint: Sendable {
    package enum Value: Sendable, Hashable {
        case count(UInt64)
        case number(Double)
        /// Durations in nanoseconds: how many fell into each bucket, the upper bounds of the buckets, and the sum. The
        /// last bucket has no bound.
        case durations(buckets: [UInt64], bounds: [UInt64], sum: UInt64)
    }

    package let labels: [(name: String, value: String)]
    package let value: Value

    package init(_ value: Value, _ labels: [(name: String, value: String)] = []) {
        self.labels = labels
        self.value = value
    }
}

/// The values of a metric at one time.
package struct MetricReading: Sendable {
    package let description: MetricDescription
    /// Empty if nothing was counted.
    package let points: [MetricPoint]

    package init(_ description: MetricDescription, _ points: [MetricPoint]) {
        self.description = description
        self.points = points
    }
}
