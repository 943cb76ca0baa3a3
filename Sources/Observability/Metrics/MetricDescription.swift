/// The name, the meaning and the labels of a metric.
package struct MetricDescription: Sendable, Hashable {
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
package protocol Metric: Sendable {
    var description: MetricDescription { get }
    /// The current values.
    var points: [MetricPoint] { get }
}
