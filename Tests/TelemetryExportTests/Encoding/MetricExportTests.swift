import Observability
import Primitives
import TelemetryExport
import Testing

/// The JSON of `ExportMetricsServiceRequest`.
@Suite struct MetricExportTests {
    /// The text of the only metric.
    private func text(_ metric: any Metric) throws -> String {
        let registry = MetricsRegistry()
        registry.add([metric])
        let resource = TelemetryResource(serviceName: "s", version: "v")
        let body = String(
            decoding: resource.body(registry.readings(), since: 7, at: 9), as: UTF8.self)
        let start = try #require(body.firstRange(of: #""scope":{"name":"latchkey","version":"v"},"metrics":["#))
        return String(body[start.upperBound...].dropLast("]}]}]}".count))
    }

    @Test("A counter is a monotonic cumulative sum of integers")
    func counter() throws {
        let counter = Counter(
            "a_total", "Things.", by: [LabelValues("colour", ["red", "green"], "what it looks like")])
        counter.add(3, at: 1)
        #expect(
            try text(counter) == #"{"name":"a_total","description":"Things.","unit":"","sum":{"dataPoints":["#
                + #"{"attributes":[{"key":"colour","value":{"stringValue":"green"}}],"startTimeUnixNano":"7","#
                + #""timeUnixNano":"9","asInt":"3"}],"aggregationTemporality":2,"isMonotonic":true}}"#)
    }

    @Test("A sampled counter is such a sum of doubles, and a gauge has no start; the unit is that of the name")
    func sampled() throws {
        #expect(
            try text(SampledMetric("cpu_seconds_total", .counter, "Time.", { 1.5 }))
                == #"{"name":"cpu_seconds_total","description":"Time.","unit":"s","sum":{"dataPoints":["#
                + #"{"startTimeUnixNano":"7","timeUnixNano":"9","asDouble":1.5}],"aggregationTemporality":2,"#
                + #""isMonotonic":true}}"#)
        #expect(
            try text(SampledMetric("size_bytes", .gauge, "Size.", { 4096 }))
                == #"{"name":"size_bytes","description":"Size.","unit":"By","gauge":{"dataPoints":["#
                + #"{"timeUnixNano":"9","asDouble":4096.0}]}}"#)
    }

    @Test("A histogram has the count of each bucket, bounds and sum in seconds, and one bucket more than bounds")
    func histogram() throws {
        let histogram = Histogram("a_seconds", "Times.", bounds: [1_000_000, 2_000_000_000])
        for nanoseconds: UInt64 in [1_000_000, 1_000_001, 2_000_000_000, 3_500_000_000] {
            histogram.observe(nanoseconds)
        }
        #expect(
            try text(histogram) == #"{"name":"a_seconds","description":"Times.","unit":"s","histogram":{"dataPoints":["#
                + #"{"startTimeUnixNano":"7","timeUnixNano":"9","count":"4","sum":5.502000001,"#
                + #""bucketCounts":["1","2","1"],"explicitBounds":[0.001,2.0]}],"aggregationTemporality":2}}"#)
    }

    @Test("A metric without values is left out")
    func empty() {
        let registry = MetricsRegistry()
        registry.add([SampledMetric("a", .gauge, "Nothing.", { nil })])
        #expect(registry.readings().isEmpty)
    }
}
