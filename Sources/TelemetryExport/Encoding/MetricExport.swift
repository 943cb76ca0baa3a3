package import Observability
import Primitives

/// Metrics as the body of a request to `/v1/metrics`: an `ExportMetricsServiceRequest` of OpenTelemetry's protocol 1.x,
/// in its JSON encoding. Sums and histograms are cumulative: they count from the start of the process.
package enum MetricExport {
    /// `AGGREGATION_TEMPORALITY_CUMULATIVE`
    private static let cumulative = 2

    /// - Parameters:
    ///   - start: When counting began, in nanoseconds since 1970.
    ///   - now: When the values were read, in nanoseconds since 1970.
    package static func body(
        _ readings: [MetricReading], since start: UInt64, at now: UInt64, of resource: TelemetryResource
    ) -> [UInt8] {
        let times = (start: String(start), now: String(now))
        return resource.body("resourceMetrics", "scopeMetrics", capacity: 64 * 1024) { json in
            json.add("metrics", objects: readings) { reading, json in add(reading, times, to: &json) }
        }
    }

    private static func add(
        _ reading: MetricReading, _ times: (start: String, now: String), to json: inout JSONObjectWriter
    ) {
        let description = reading.description
        json.add("name", description.name)
        json.add("description", description.help)
        json.add("unit", unit(of: description.name))
        json.add(named: description.kind == .counter ? "sum" : description.kind.rawValue) { data in
            let start = description.kind == .gauge ? nil : times.start
            data.add("dataPoints", objects: reading.points) { add($0, since: start, at: times.now, to: &$1) }
            if description.kind != .gauge { data.add("aggregationTemporality", cumulative) }
            if description.kind == .counter { data.add("isMonotonic", true) }
        }
    }

    private static func add(
        _ point: MetricPoint, since start: String?, at now: String, to json: inout JSONObjectWriter
    ) {
        json.add(attributes: point.labels)
        json.add("startTimeUnixNano", ifPresent: start)
        json.add("timeUnixNano", now)
        switch point.value {
        case .count(let count): json.add("asInt", String(count))
        case .number(let number): json.add("asDouble", json: ProtoJSON.text(number))
        case .durations(let buckets, let bounds, let sum):
            json.add("count", String(buckets.reduce(0, &+)))
            json.add("sum", json: ProtoJSON.text(seconds(sum)))
            json.add("bucketCounts", buckets.map { String($0) })
            json.add("explicitBounds", json: ProtoJSON.array(bounds.map(seconds)))
        }
    }

    /// The unit that the name says (UCUM); empty for a count.
    private static func unit(of name: String) -> String {
        let name = name.hasSuffix("_total") ? name.dropLast("_total".count) : name[...]
        return name.hasSuffix("_seconds") ? "s" : name.hasSuffix("_bytes") ? "By" : ""
    }

    private static func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 }
}
