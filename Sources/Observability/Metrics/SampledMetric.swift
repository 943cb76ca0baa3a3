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
    private let read: @Sendable () -> [Sample]

    /// - Parameter read: Returns the current samples. No request may be able to add a label value.
    package init(_ description: MetricDescription, _ read: @escaping @Sendable () -> [Sample]) {
        self.description = description
        self.read = read
    }

    package init(
        _ name: String, _ kind: MetricDescription.Kind, _ help: String, _ read: @escaping @Sendable () -> Double?
    ) {
        self.init(MetricDescription(name, kind, help)) { read().map { [Sample($0)] } ?? [] }
    }

    package var points: [MetricPoint] {
        read().map { sample in
            MetricPoint(.number(sample.value), zip(description.labels, sample.labels).map { ($0.name, $1) })
        }
    }
}
