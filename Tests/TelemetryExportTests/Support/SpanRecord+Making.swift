import Tracing

@testable import TelemetryExport

extension SpanRecord {
    /// A span that its name identifies.
    static func named(_ name: String) -> SpanRecord {
        SpanRecord(
            traceID: "4bf92f3577b34da6a3ce929d0e0e4736", spanID: "00f067aa0ba902b7", parentSpanID: nil, name: name,
            kind: .internal, start: 1, end: 2)
    }
}
