/// What is not counted here but asked for when the metrics are read: how many connections are open, how old keys are.
public struct SampledMetric: Metric {
    public struct Sample: Sendable {
        /// In the order of the description's labels.
        public let labels: [String]
        public let value: Double

        public init(_ value: Double, _ labels: [String] = []) {
            self.labels = labels
            self.value = value
        }
    }

    public let description: MetricDescription
    private let read: @Sendable () -> [Sample]

    /// - Parameter read: What there is now. Its labels have to be of a set that no request can add to.
    public init(_ description: MetricDescription, _ read: @escaping @Sendable () -> [Sample]) {
        self.description = description
        self.read = read
    }

    public init(
        _ name: String, _ kind: MetricDescription.Kind, _ help: String, _ read: @escaping @Sendable () -> Double?
    ) {
        self.init(MetricDescription(name, kind, help)) { read().map { [Sample($0)] } ?? [] }
    }

    public func write(to page: inout MetricsPage) {
        for sample in read() {
            page.sample(
                "", zip(description.labels, sample.labels).map { ($0.name, $1) }, MetricsPage.text(sample.value))
        }
    }
}
