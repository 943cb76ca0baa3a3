/// What a metric is called, what it counts, and by what it is split up.
public struct MetricDescription: Sendable, Hashable {
    public enum Kind: String, Sendable {
        /// Only ever grows, until the process ends.
        case counter
        case gauge
        case histogram
    }

    /// A label, and what its values are.
    public struct Label: Sendable, Hashable {
        public let name: String
        /// Which values there are: a set that no request can add to.
        public let meaning: String

        public init(_ name: String, _ meaning: String) {
            self.name = name
            self.meaning = meaning
        }
    }

    /// In Prometheus' way: the unit at the end, `_total` for what is counted.
    public let name: String
    public let kind: Kind
    /// One sentence.
    public let help: String
    public let labels: [Label]

    public init(_ name: String, _ kind: Kind, _ help: String, labels: [Label] = []) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// The names under which its samples stand.
    public var sampleNames: [String] {
        kind == .histogram ? [name + "_bucket", name + "_sum", name + "_count"] : [name]
    }
}

/// Something that can be written down as a family of samples.
public protocol Metric: Sendable {
    var description: MetricDescription { get }
    /// Writes the samples that there are; nothing if there are none.
    func write(to page: inout MetricsPage)
}
