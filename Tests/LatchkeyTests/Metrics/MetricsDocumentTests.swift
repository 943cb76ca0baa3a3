import Foundation
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Observability
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// docs/observability.md, the dashboard and the alerts match the existing metrics.
@Suite(.serialized) struct MetricsDocumentTests {
    private func text(_ path: String) throws -> String {
        try Repository.text(path)
    }

    private func descriptions() async throws -> [MetricDescription] {
        let directory = try TemporaryDirectory()
        var configuration = Configuration()
        configuration.database.url = DatabaseURL(path: directory.path + "/latchkey.db")
        configuration.zenkey.discoveryURL = .init("https://discovery.example/", policy: .httpsOnly)
        configuration.log.level = .off
        let service = try LatchkeyService(configuration: configuration, features: .standard)
        let descriptions = service.metricDescriptions
        await service.shutdown(within: .zero)
        return descriptions
    }

    /// The table of docs/observability.md.
    private func table(_ descriptions: [MetricDescription]) -> String {
        let rows = descriptions.map { metric in
            let labels = metric.labels.map { "`\($0.name)`: \($0.meaning)" }.joined(separator: "<br>")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(metric.help) | \(labels) |"
        }
        return (["| metric | type | what it is | labels |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }

    @Test("docs/observability.md lists exactly the existing metrics, with their types, meanings and labels")
    func document() async throws {
        let path = "docs/observability.md"
        let (begin, end) = ("<!-- metrics -->\n", "\n<!-- end of metrics -->")
        let now = try text(path)
        let from = try #require(now.range(of: begin))
        let to = try #require(now.range(of: end))
        let expected = table(try await descriptions())
        if ProcessInfo.processInfo.environment["LATCHKEY_METRICS_TABLE"] == "write" {
            let new = now.replacingCharacters(in: from.upperBound..<to.lowerBound, with: expected)
            try new.write(to: Repository.root.appendingPathComponent(path), atomically: true, encoding: .utf8)
            return
        }
        let told = now[from.upperBound..<to.lowerBound]
        let fix = "write it anew with LATCHKEY_METRICS_TABLE=write scripts/test --filter MetricsDocumentTests"
        #expect(told == expected, "\(path) differs: \(fix)")
    }

    @Test("The alerts and the dashboard name only existing metrics and labels, and the dashboard covers the metrics")
    func names() async throws {
        let descriptions = try await descriptions()
        let known = Set(
            descriptions.flatMap { metric in
                (metric.kind == .histogram ? ["_bucket", "_sum", "_count"] : [""]).map { metric.name + $0 }
            })
        let labels = Set(descriptions.flatMap { $0.labels.map(\.name) }).union(["job", "instance", "le"])
        for file in ["Config/prometheus-rules.yaml", "Config/grafana-dashboard.json"] {
            let text = try text(file)
            let named = Set(text.matches(of: /\b(?:latchkey|process)_[a-z_]+\b/).map { String($0.0) })
            #expect(named.count > 10)
            #expect(named.subtracting(known) == [], "\(file) names metrics that there are not")
            let grouped = text.matches(of: /\b(?:by|on) \(([a-z_, ]+)\)/).flatMap { $0.1.split(separator: ", ") }
            let selected = text.matches(of: /[{,]([a-z_]+)=~?\\?"/).map(\.1)
            #expect(Set((grouped + selected).map(String.init)).subtracting(labels) == [], "\(file)")
        }
        let shown = try text("Config/grafana-dashboard.json")
        for metric in descriptions
        where !["process_virtual_memory_bytes", "process_start_time_seconds"].contains(metric.name) {
            #expect(shown.contains(metric.name), "the dashboard shows nothing of \(metric.name)")
        }
    }

    @Test("promtool accepts the alerts and the dashboard's queries")
    func promtool() async throws {
        let rules = Repository.root.appendingPathComponent("Config/prometheus-rules.yaml").path
        let alerts = try await Promtool.check(rules: rules)
        #expect(alerts.status == 0, "\(alerts.output)")

        let dashboard = try #require(
            JSONSerialization.jsonObject(with: Data(try text("Config/grafana-dashboard.json").utf8)) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let expressions = panels.flatMap { ($0["targets"] as? [[String: Any]]) ?? [] }.compactMap {
            $0["expr"] as? String
        }
        #expect(expressions.count > 20)
        #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count, "ids of panels are unique")
        // Only Grafana replaces `$__rate_interval`.
        let asRules = expressions.enumerated().map { number, expression -> [String: Any] in
            ["record": "panel\(number):value", "expr": expression.replacing("$__rate_interval", with: "5m")]
        }
        let directory = try TemporaryDirectory()
        let file = directory.path + "/rules.json"
        // promtool reads the file as YAML and does not know `\/`.
        try JSONSerialization.data(
            withJSONObject: ["groups": [["name": "panels", "rules": asRules]]], options: .withoutEscapingSlashes
        ).write(to: URL(fileURLWithPath: file))
        let queries = try await Promtool.check(rules: file)
        #expect(queries.status == 0, "\(queries.output)")
    }
}
