package import Tracing

/// A span that has ended.
package struct SpanRecord: Sendable {
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
    package let kind: SpanKind
    /// In nanoseconds since 1970.
    package let start: UInt64
    /// In nanoseconds since 1970.
    package let end: UInt64
    /// Sorted by name.
    package var attributes: [(name: String, value: Value)] = []
    package var isError = false
}
