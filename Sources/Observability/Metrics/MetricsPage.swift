/// Metrics in Prometheus' text format, version 0.0.4.
package struct MetricsPage: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var description: MetricDescription?
    private var hasHead = false

    package init(capacity: Int = 32 * 1024) { bytes.reserveCapacity(capacity) }

    /// Begins a family. Its head is written with its first sample: a family without samples is left out.
    mutating func begin(_ description: MetricDescription) {
        self.description = description
        hasHead = false
    }

    /// Writes a sample of the current family.
    /// - Parameter suffix: Appended to the family's name.
    package mutating func sample(
        _ suffix: StaticString = "", _ labels: [(name: String, value: String)] = [],
        last: (name: String, value: String)? = nil, _ value: String
    ) {
        guard let description else { return }
        writeHead(of: description)
        add(description.name)
        suffix.withUTF8Buffer { bytes.append(contentsOf: $0) }
        write(labels, last)
        bytes.append(UInt8(ascii: " "))
        add(value)
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func writeHead(of description: MetricDescription) {
        guard !hasHead else { return }
        hasHead = true
        add("# HELP \(description.name) ")
        escape(description.help, quotes: false)
        add("\n# TYPE \(description.name) \(description.kind.rawValue)\n")
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

    /// A number in the text format.
    package static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: number) { return String(whole) }
        return "\(number)"
    }

    /// Nanoseconds as seconds.
    static func seconds(_ nanoseconds: UInt64) -> String { text(Double(nanoseconds) / 1e9) }
}
