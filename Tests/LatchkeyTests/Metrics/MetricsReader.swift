import Foundation
import TestSupport

/// Reads metrics in Prometheus' text format, without the code that writes them.
struct MetricsReader {
    struct Sample: Hashable {
        let name: String
        /// The text between the braces, with both braces.
        let labels: String
        let value: Double

        func has(_ parts: [String]) -> Bool { parts.allSatisfy { labels.contains($0) } }
    }

    let text: String
    let samples: [Sample]
    /// The names of `# TYPE` lines.
    let families: Set<String>

    struct Unreadable: Error {
        let line: String
    }

    init(_ text: String) throws {
        self.text = text
        let lines = text.split(separator: "\n")
        families = Set(
            lines.filter { $0.hasPrefix("# TYPE ") }.map { String($0.split(separator: " ")[2]) })
        samples = try lines.filter { !$0.hasPrefix("#") }.map { line in
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                throw Unreadable(line: String(line))
            }
            let series = line[..<space]
            let name = series.prefix { $0 != "{" }
            return Sample(name: String(name), labels: String(series.dropFirst(name.count)), value: value)
        }
    }

    /// The sum of a name's samples whose labels contain all parts.
    func sum(_ name: String, _ parts: String...) -> Double {
        samples.filter { $0.name == name && $0.has(parts) }.reduce(0) { $0 + $1.value }
    }

    /// Names and labels, without values.
    var series: Set<String> { Set(samples.map { $0.name + $0.labels }) }
}

extension App {
    func metrics() async throws -> MetricsReader {
        let answer = try await send("GET", "/metrics")
        return try MetricsReader(String(decoding: answer.response.body, as: UTF8.self))
    }
}
