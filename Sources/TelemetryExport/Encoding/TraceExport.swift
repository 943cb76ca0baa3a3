import Primitives
import Tracing

/// Spans as the body of a request to `/v1/traces`: an `ExportTraceServiceRequest` of OpenTelemetry's protocol 1.x, in
/// its JSON encoding. Trace and span ids are hexadecimal there, enumerations numbers.
package enum TraceExport {
    package static func body(_ spans: [SpanRecord], of resource: TelemetryResource) -> [UInt8] {
        resource.body("resourceSpans", "scopeSpans", capacity: 512 + 512 * spans.count) { json in
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
