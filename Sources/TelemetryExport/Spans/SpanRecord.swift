/// A span that has ended.
package struct SpanRecord: Sendable {
    /// The numbers are those of OpenTelemetry's protocol.
    package enum Kind: Int, Sendable {
        case `internal` = 1
        case server
        case client
        case producer
        case consumer
    }

    package enum Value: Sendable, Hashable {
        case string(String)
        case int(Int64)
        case double(Double)
        case bool(Bool)
    }

    /// 32 hexadecimal digits.
    package let traceID: String
    /// 16 hexadecimal digits.
    package let spanID: String
    /// The span of the caller or of the surrounding work; nil for the first of a trace.
    package let parentSpanID: String?
    package let name: String
    package let kind: Kind
    /// In nanoseconds since 1970.
    package let start: UInt64
    /// In nanoseconds since 1970.
    package let end: UInt64
    /// Sorted by name.
    package let attributes: [(name: String, value: Value)]
    package let isError: Bool

    package init(
        traceID: String, spanID: String, parentSpanID: String?, name: String, kind: Kind, start: UInt64, end: UInt64,
        attributes: [(name: String, value: Value)] = [], isError: Bool = false
    ) {
        self.traceID = traceID
        self.spanID = spanID
        self.parentSpanID = parentSpanID
        self.name = name
        self.kind = kind
        self.start = start
        self.end = end
        self.attributes = attributes
        self.isError = isError
    }
}
