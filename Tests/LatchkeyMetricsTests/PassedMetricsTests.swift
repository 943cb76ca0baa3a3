import LatchkeyMetrics
import MetricsTestKit
import Testing

@testable import Observability

@Suite("Metrics for swift-metrics")
struct PassedMetricsTests {
    private let factory = TestMetrics()

    private static func reading(
        _ kind: MetricDescription.Kind, _ value: MetricPoint.Value, _ labels: [(name: String, value: String)] = []
    ) -> [MetricReading] {
        [
            MetricReading(
                description: MetricDescription("latchkey_thing", kind, "A thing."),
                points: [MetricPoint(value: value, labels: labels)])
        ]
    }

    @Test("A counter gets the differences, with its labels")
    func counter() throws {
        var passed = PassedMetrics(factory: factory)
        let labels = [(name: "outcome", value: "ok"), (name: "kind", value: "code")]
        for count in [2, 2, 7] as [UInt64] { passed.update(Self.reading(.counter, .count(count), labels)) }
        let counter = try factory.expectCounter("latchkey_thing", [("outcome", "ok"), ("kind", "code")])
        #expect(counter.values == [2, 5])
    }

    @Test("A counter never goes back, whichever of two updates comes first")
    func order() throws {
        var passed = PassedMetrics(factory: factory)
        for count in [5, 3, 6] as [UInt64] { passed.update(Self.reading(.counter, .count(count))) }
        #expect(try factory.expectCounter("latchkey_thing").values == [5, 1])
    }

    @Test("A sampled counter gets whole differences, and nothing of a value that is no count")
    func sampled() throws {
        var passed = PassedMetrics(factory: factory)
        for number in [1.5, .nan, -1, .infinity, 3.9] { passed.update(Self.reading(.counter, .number(number))) }
        #expect(try factory.expectCounter("latchkey_thing").values == [1, 2])
    }

    @Test("A gauge gets the value, and is destroyed when its metric has no value")
    func gauge() throws {
        var passed = PassedMetrics(factory: factory)
        for number in [4, 2.5] { passed.update(Self.reading(.gauge, .number(number))) }
        #expect(try factory.expectMeter("latchkey_thing").values == [4, 2.5])
        passed.update([])
        #expect(factory.meters.isEmpty)
        passed.update(Self.reading(.gauge, .count(1)))
        #expect(try factory.expectMeter("latchkey_thing").values == [1])
        passed.update([])
        #expect(factory.meters.isEmpty)
    }

    @Test("A histogram becomes cumulative buckets, a count and a sum in seconds")
    func histogram() throws {
        var passed = PassedMetrics(factory: factory)
        let bounds: [UInt64] = [5_000_000, 1_000_000_000]
        for (buckets, sum) in [([1, 2, 0], 1_500_000_000), ([1, 2, 1], 4_000_000_000)] as [([UInt64], UInt64)] {
            passed.update(
                Self.reading(
                    .histogram, .durations(buckets: buckets, bounds: bounds, sum: sum), [(name: "step", value: "token")]
                ))
        }
        func total(_ suffix: String, _ last: [(String, String)] = []) throws -> Int64 {
            try factory.expectCounter("latchkey_thing" + suffix, [("step", "token")] + last).totalValue
        }
        #expect(try total("_bucket", [("le", "0.005")]) == 1)
        #expect(try total("_bucket", [("le", "1")]) == 3)
        #expect(try total("_bucket", [("le", "+Inf")]) == 4)
        #expect(try total("_count") == 4)
        // The factory of the test counts whole numbers only.
        #expect(try total("_sum") == 4)
    }
}
