import Primitives
import Synchronization
import Tracing

/// A tracer that keeps its spans. It uses W3C Trace Context and would forward baggage too.
final class RecordingTracer: Tracer {
    typealias Span = RecordingSpan

    private let kept = Mutex<[RecordingSpan]>([])
    private let baggage = Mutex<[String]>([])

    /// The ended spans, in the order of their starts.
    var ended: [RecordingSpan] { kept.withLock { $0 }.filter(\.hasEnded) }

    /// The callers' baggage.
    var receivedBaggage: [String] { baggage.withLock { $0 } }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RecordingSpan {
        var context = context()
        let parent = context[PlaceKey.self]
        context[PlaceKey.self] = parent?.child() ?? Self.newTrace()
        let span = RecordingSpan(operationName, kind, context, parent)
        kept.withLock { $0.append(span) }
        return span
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        context[PlaceKey.self] = extractor.extract(key: "traceparent", from: carrier)
            .flatMap(TraceContext.init(traceparent:))
        for name in ["baggage", "b3", "X-Api-Key", "Authorization"] {
            if let value = extractor.extract(key: name, from: carrier) { baggage.withLock { $0.append(value) } }
        }
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let place = context[PlaceKey.self] else { return }
        injector.inject(place.traceparent, forKey: "traceparent", into: &carrier)
        injector.inject("vendor=1", forKey: "tracestate", into: &carrier)
        injector.inject("user=7", forKey: "baggage", into: &carrier)
    }

    private static func newTrace() -> TraceContext? {
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in "123456789abcdef".randomElement() ?? "1" })
        }
        return TraceContext(traceparent: "00-\(digits(32))-\(digits(16))-01")
    }
}

enum PlaceKey: InstrumentationContextKey {
    typealias Value = TraceContext
}

final class RecordingSpan: Tracing.Span {
    private struct State {
        var name: String
        var attributes = SpanAttributes()
        var isError = false
        var hasEnded = false
    }

    let kind: SpanKind
    let context: InstrumentationContext
    let parent: TraceContext?
    private let state: Mutex<State>

    init(_ name: String, _ kind: SpanKind, _ context: InstrumentationContext, _ parent: TraceContext?) {
        self.kind = kind
        self.context = context
        self.parent = parent
        state = Mutex(State(name: name))
    }

    var place: TraceContext? { context[PlaceKey.self] }
    var isError: Bool { state.withLock { $0.isError } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    var isRecording: Bool { !hasEnded }

    var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    /// The attributes as text.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        attributes.forEach { name, value in
            switch value {
            case .string(let text): texts[name] = text
            case .int64(let number): texts[name] = "\(number)"
            default: texts[name] = "\(value)"
            }
        }
        return texts
    }

    func setStatus(_ status: SpanStatus) { state.withLock { $0.isError = status.code == .error } }
    func addEvent(_ event: SpanEvent) {}
    func addLink(_ link: SpanLink) {}
    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {}
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) { state.withLock { $0.hasEnded = true } }
}
