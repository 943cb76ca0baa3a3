package import Primitives
import Synchronization
package import Tracing

/// Makes spans, and passes those of recorded traces to the exporter when they end.
///
/// It reads and writes `traceparent` only (W3C Trace Context). Events, links, and error messages are not kept: they
/// could hold data of a user.
package final class ExportTracer: Tracer {
    package typealias Span = ExportSpan

    /// The part of the new traces' ids that are recorded, of 2^56. A trace that a caller began follows the caller's
    /// decision.
    private let threshold: UInt64
    private let random: RandomSource
    private let record: @Sendable (SpanRecord) -> Void

    /// - Parameters:
    ///   - ratio: How many new traces are recorded: from 0 for none to 1 for all.
    ///   - record: Gets each span that has ended; must be fast.
    package init(
        ratio: Double, random: RandomSource = .system, record: @escaping @Sendable (SpanRecord) -> Void
    ) {
        threshold = UInt64(max(0, min(ratio, 1)) * Double(1 << 56 as UInt64))
        self.random = random
        self.record = record
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> ExportSpan {
        var context = context()
        let parent = context[TraceContextKey.self]
        let place = parent?.child(random) ?? .root(random, isSampled: records)
        context[TraceContextKey.self] = place
        return ExportSpan(
            operationName, kind, place, parent?.spanID, context,
            start: instant().nanosecondsSinceEpoch, record)
    }

    /// Whether a new trace is recorded. The last seven bytes decide: the only ones that are random in all traces (W3C
    /// Trace Context Level 2, section 2.2.3.3), so that programs with one ratio decide alike.
    package func records(_ traceID: [UInt8]) -> Bool {
        traceID.suffix(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } < threshold
    }

    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        context[TraceContextKey.self] = extractor.extract(key: "traceparent", from: carrier)
            .flatMap(TraceContext.init(traceparent:))
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let place = context[TraceContextKey.self] else { return }
        injector.inject(place.traceparent, forKey: "traceparent", into: &carrier)
    }
}

private enum TraceContextKey: InstrumentationContextKey {
    typealias Value = TraceContext
}

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
