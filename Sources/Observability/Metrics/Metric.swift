/// The name, the meaning and the labels of a metric.
public struct MetricDescription: Sendable, Hashable {
    package enum Kind: String, Sendable {
        /// Never decreases until the process ends.
        case counter
        case gauge
        case histogram
    }

    /// A label and the meaning of its values.
    package struct Label: Sendable, Hashable {
        package let name: String
        /// The values, to which no request can add.
        package let meaning: String

        package init(_ name: String, _ meaning: String) {
            self.name = name
            self.meaning = meaning
        }
    }

    /// Follows Prometheus' conventions: the unit at the end, `_total` for counters.
    package let name: String
    package let kind: Kind
    /// One sentence.
    package let help: String
    package let labels: [Label]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }
}

/// A family of samples.
public protocol Metric: Sendable {
    /// The name, the meaning and the labels.
    var description: MetricDescription { get }
    /// The current values.
    var points: [MetricPoint] { get }
}

/// The value of a metric for one combination of its labels.
public struct MetricPoint: Sendable {
    package enum Value: Sendable, Hashable {
        case count(UInt64)
        case number(Double)
        /// Durations in nanoseconds: how many fell into each bucket, the upper bounds of the buckets, and the sum. The
        /// last bucket has no bound.
        case durations(buckets: [UInt64], bounds: [UInt64], sum: UInt64)
    }

    package let value: Value
    package let labels: [(name: String, value: String)]
}

package struct MetricReading: Sendable {
    package let description: MetricDescription
    /// Empty if nothing was counted.
    package let points: [MetricPoint]
}

/// A metric that is sampled when the metrics are read, such as open connections.
package struct SampledMetric: Metric {
    package struct Sample: Sendable {
        /// In the order of the description's labels.
        package let labels: [String]
        package let value: Double

        package init(_ value: Double, _ labels: [String] = []) {
            self.labels = labels
            self.value = value
        }
    }

    package let description: MetricDescription
    private let read: @Sendable () -> [MetricPoint]

    init(_ description: MetricDescription, points read: @escaping @Sendable () -> [MetricPoint]) {
        self.description = description
        self.read = read
    }

    /// - Parameter read: Returns the current samples. No request may be able to add a label value.
    package init(_ description: MetricDescription, _ read: @escaping @Sendable () -> [Sample]) {
        self.init(
            description,
            points: {
                read().map { sample in
                    let labels = zip(description.labels, sample.labels).map { (name: $0.name, value: $1) }
                    return MetricPoint(value: .number(sample.value), labels: labels)
                }
            })
    }

    package init(
        _ name: String, _ kind: MetricDescription.Kind, _ help: String, _ read: @escaping @Sendable () -> Double?
    ) {
        self.init(MetricDescription(name, kind, help)) { read().map { [Sample($0)] } ?? [] }
    }

    /// Counts by the values of one label.
    package init(
        _ name: String, _ help: String, by label: MetricDescription.Label,
        counts: @escaping @Sendable () -> [(String, UInt64)]
    ) {
        self.init(MetricDescription(name, .counter, help, labels: [label])) {
            counts().map { Sample(Double($0.1), [$0.0]) }
        }
    }

    package var points: [MetricPoint] { read() }
}
