package import Observability
package import Primitives
import Tracing

/// What the exported spans and metrics are of: one process of one service.
package struct TelemetryResource: Sendable, Hashable {
    /// `service.name`
    package let serviceName: String
    /// `service.version`, also the instrumentation scope's.
    package let version: String
    /// `service.instance.id`: differs for each process.
    package let instanceID: String

    package init(serviceName: String, version: String, random: RandomSource = .system) {
        self.serviceName = serviceName
        self.version = version
        instanceID = random.bytes(16).hexadecimal
    }
}

extension TelemetryResource {
    /// The body of a request: spans or metrics with what made them.
    func body(
        _ list: StaticString, _ scopes: StaticString, capacity: Int, _ content: (inout JSONObjectWriter) -> Void
    ) -> [UInt8] {
        let attributes = [
            ("service.name", serviceName), ("service.version", version), ("service.instance.id", instanceID),
        ]
        var json = JSONObjectWriter(capacity: capacity)
        json.add(list, objects: [attributes]) { attributes, json in
            json.add("resource") { $0.add(attributes: attributes) }
            json.add(scopes, objects: [version]) { version, json in
                json.add("scope") { scope in
                    scope.add("name", "latchkey")
                    scope.add("version", version)
                }
                content(&json)
            }
        }
        return json.finish()
    }
}

extension JSONObjectWriter {
    /// Writes `attributes`, a list of key-value pairs; nothing if there are none.
    mutating func add(attributes: [(name: String, value: String)]) {
        add(attributes: attributes.map { ($0.name, .string($0.value)) })
    }

    /// Writes single values. Latchkey sets no lists.
    mutating func add(attributes: [(name: String, value: SpanAttribute)]) {
        guard !attributes.isEmpty else { return }
        add("attributes", objects: attributes) { attribute, json in
            json.add("key", attribute.name)
            json.add("value") { value in
                switch attribute.value {
                case .string(let text): value.add("stringValue", text)
                case .stringConvertible(let text): value.add("stringValue", "\(text)")
                case .bool(let flag): value.add("boolValue", flag)
                case .int32(let number): value.add("intValue", String(number))
                case .int64(let number): value.add("intValue", String(number))
                case .double(let number): value.add("doubleValue", json: ProtoJSON.text(number))
                default: break
                }
            }
        }
    }
}

/// Numbers in the JSON mapping of Protocol Buffers. Integers of 64 bits are strings of decimal digits.
enum ProtoJSON {
    /// A number, or one of three strings for what JSON has no number for.
    static func text(_ number: Double) -> String {
        if number.isNaN { return "\"NaN\"" }
        if number.isInfinite { return number < 0 ? "\"-Infinity\"" : "\"Infinity\"" }
        return "\(number)"
    }

    static func array(_ numbers: [Double]) -> String { "[" + numbers.map(text).joined(separator: ",") + "]" }
}

extension TelemetryResource {
    /// Spans as the body of a request to `/v1/traces`: an `ExportTraceServiceRequest` of OpenTelemetry's protocol 1.x,
    /// in its JSON encoding. Trace and span ids are hexadecimal there, enumerations numbers.
    package func body(_ spans: [SpanRecord]) -> [UInt8] {
        body("resourceSpans", "scopeSpans", capacity: 512 + 512 * spans.count) { json in
            json.add("spans", objects: spans) { span, json in json.add(span) }
        }
    }
}

extension JSONObjectWriter {
    fileprivate mutating func add(_ span: SpanRecord) {
        add("traceId", span.traceID)
        add("spanId", span.spanID)
        add("parentSpanId", ifPresent: span.parentSpanID)
        add("name", span.name)
        add("kind", span.kind.number)
        add("startTimeUnixNano", String(span.start))
        add("endTimeUnixNano", String(span.end))
        var attributes: [(name: String, value: SpanAttribute)] = []
        span.attributes.forEach { attributes.append(($0, $1)) }
        add(attributes: attributes.sorted { $0.name < $1.name })
        if span.isError { add("status", object: { $0.add("code", 2) }) }
    }
}

extension SpanKind {
    fileprivate var number: Int {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}

extension TelemetryResource {
    /// Metrics as the body of a request to `/v1/metrics`: an `ExportMetricsServiceRequest` of OpenTelemetry's protocol
    /// 1.x, in its JSON encoding. Sums and histograms are cumulative: they count from the start of the process.
    /// - Parameter start: When counting began, in nanoseconds since 1970, as the time of the values.
    package func body(_ readings: [MetricReading], since start: UInt64, at now: UInt64) -> [UInt8] {
        let (start, now) = (String(start), String(now))
        return body("resourceMetrics", "scopeMetrics", capacity: 64 * 1024) { json in
            json.add("metrics", objects: readings) { $1.add($0, since: start, at: now) }
        }
    }
}

extension JSONObjectWriter {
    /// `AGGREGATION_TEMPORALITY_CUMULATIVE`
    private static let cumulative = 2

    fileprivate mutating func add(_ reading: MetricReading, since start: String, at now: String) {
        let description = reading.description
        add("name", description.name)
        add("description", description.help)
        add("unit", Self.unit(of: description.name))
        add(named: description.kind == .counter ? "sum" : description.kind.rawValue) { data in
            let start = description.kind == .gauge ? nil : start
            data.add("dataPoints", objects: reading.points) { $1.add($0, since: start, at: now) }
            if description.kind != .gauge { data.add("aggregationTemporality", Self.cumulative) }
            if description.kind == .counter { data.add("isMonotonic", true) }
        }
    }

    private mutating func add(_ point: MetricPoint, since start: String?, at now: String) {
        add(attributes: point.labels)
        add("startTimeUnixNano", ifPresent: start)
        add("timeUnixNano", now)
        switch point.value {
        case .count(let count): add("asInt", String(count))
        case .number(let number): add("asDouble", json: ProtoJSON.text(number))
        case .durations(let buckets, let bounds, let sum):
            add("count", String(buckets.reduce(0, &+)))
            add("sum", json: ProtoJSON.text(Self.seconds(sum)))
            add("bucketCounts", buckets.map { String($0) })
            add("explicitBounds", json: ProtoJSON.array(bounds.map(Self.seconds)))
        }
    }

    /// The unit that the name says (UCUM); empty for a count.
    private static func unit(of name: String) -> String {
        let name = name.hasSuffix("_total") ? name.dropLast("_total".count) : name[...]
        return name.hasSuffix("_seconds") ? "s" : name.hasSuffix("_bytes") ? "By" : ""
    }

    private static func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 }
}
