import Primitives
import Synchronization
package import Tracing

/// A span of ``ExportTracer``. One of a trace that is not recorded keeps nothing.
package final class ExportSpan: Tracing.Span {
    private struct State {
        var name: String
        var attributes = SpanAttributes()
        var isError = false
        var hasEnded = false
    }

    package let context: InstrumentationContext
    private let kind: SpanKind
    private let traceContext: TraceContext
    private let parentID: String?
    private let start: UInt64
    private let record: @Sendable (SpanRecord) -> Void
    private let state: Mutex<State>

    init(
        _ name: String, _ kind: SpanKind, _ traceContext: TraceContext, _ parentID: String?,
        _ context: InstrumentationContext, start: UInt64, _ record: @escaping @Sendable (SpanRecord) -> Void
    ) {
        self.context = context
        self.kind = kind
        self.traceContext = traceContext
        self.parentID = parentID
        self.start = start
        self.record = record
        state = Mutex(State(name: name))
    }

    package var isRecording: Bool { traceContext.isSampled && !state.withLock { $0.hasEnded } }

    package var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { if traceContext.isSampled { state.withLock { $0.attributes = newValue } } }
    }

    package func setStatus(_ status: SpanStatus) { state.withLock { $0.isError = status.code == .error } }

    package func addEvent(_ event: SpanEvent) {}

    package func addLink(_ link: SpanLink) {}

    /// Sets `error.type` to the type of the error.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        updateAttributes { $0["error.type"] = String(describing: type(of: error)) }
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard traceContext.isSampled else { return }
        let ended = state.withLock { state -> State? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return state
        }
        guard let ended else { return }
        record(
            SpanRecord(
                traceID: traceContext.traceID, spanID: traceContext.spanID, parentSpanID: parentID, name: ended.name,
                kind: kind, start: start, end: max(start, instant().nanosecondsSinceEpoch),
                attributes: ended.attributes, isError: ended.isError))
    }
}

/// A span that has ended.
package struct SpanRecord: Sendable {
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
    package var attributes = SpanAttributes()
    package var isError = false
}
