import Synchronization

package final class MetricsRegistry: Sendable {
    private let metrics = Mutex<[any Metric]>([])

    package init() {}

    /// Adds metrics; a metric whose name exists is left out.
    package func add(_ new: [any Metric]) {
        metrics.withLock { metrics in
            for metric in new where !metrics.contains(where: { $0.description.name == metric.description.name }) {
                metrics.append(metric)
            }
        }
    }

    /// Sorted by name.
    package var descriptions: [MetricDescription] { sorted.map(\.description) }

    /// The current values of all metrics in Prometheus' text format.
    package func page() -> [UInt8] {
        var page = MetricsPage()
        for reading in readings() { page.add(reading) }
        return page.bytes
    }

    /// The current values of the metrics that have any, sorted by name.
    package func readings() -> [MetricReading] {
        sorted.map { MetricReading(description: $0.description, points: $0.points) }.filter { !$0.points.isEmpty }
    }

    private var sorted: [any Metric] {
        metrics.withLock { $0 }.sorted { $0.description.name < $1.description.name }
    }
}

/// Metrics in Prometheus' text format, version 0.0.4.
package struct MetricsPage: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 32 * 1024) { bytes.reserveCapacity(capacity) }

    package mutating func add(_ reading: MetricReading) {
        let name = reading.description.name
        add("# HELP \(name) ")
        escape(reading.description.help, quotes: false)
        add("\n# TYPE \(name) \(reading.description.kind.rawValue)\n")
        for point in reading.points {
            switch point.value {
            case .count(let count): sample(name, "", point.labels, String(count))
            case .number(let number): sample(name, "", point.labels, Self.text(number))
            case .durations(let buckets, let bounds, let sum):
                var count: UInt64 = 0
                for (index, value) in buckets.enumerated() {
                    count &+= value
                    let bound = index < bounds.count ? Self.seconds(bounds[index]) : "+Inf"
                    sample(name, "_bucket", point.labels, last: ("le", bound), String(count))
                }
                sample(name, "_sum", point.labels, Self.seconds(sum))
                sample(name, "_count", point.labels, String(count))
            }
        }
    }

    private mutating func sample(
        _ name: String, _ suffix: StaticString, _ labels: [(name: String, value: String)],
        last: (name: String, value: String)? = nil, _ value: String
    ) {
        add(name)
        suffix.withUTF8Buffer { bytes.append(contentsOf: $0) }
        write(labels, last)
        bytes.append(UInt8(ascii: " "))
        add(value)
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func write(_ labels: [(name: String, value: String)], _ last: (name: String, value: String)?) {
        var separator = UInt8(ascii: "{")
        for (name, value) in labels + (last.map { [$0] } ?? []) {
            bytes.append(separator)
            separator = UInt8(ascii: ",")
            add(name)
            add("=\"")
            escape(value, quotes: true)
            bytes.append(UInt8(ascii: "\""))
        }
        if separator == UInt8(ascii: ",") { bytes.append(UInt8(ascii: "}")) }
    }

    private mutating func add(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// A quotation mark ends a label's value, and a line feed any text.
    private mutating func escape(_ text: String, quotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): add("\\\\")
            case UInt8(ascii: "\n"): add("\\n")
            case UInt8(ascii: "\"") where quotes: add("\\\"")
            default: bytes.append(byte)
            }
        }
    }

    package static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: number) { return String(whole) }
        return "\(number)"
    }

    package static func seconds(_ nanoseconds: UInt64) -> String { text(Double(nanoseconds) / 1e9) }
}
