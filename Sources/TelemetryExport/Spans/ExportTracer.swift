package import Primitives
package import Tracing

/// Makes spans, and passes those of recorded traces to the exporter when they end.
///
/// It reads and writes `traceparent` only (W3C Trace Context). Events, links, and error messages are not kept: they
/// could hold data of a user.
package final class ExportTracer: Tracer {
    package typealias Span = ExportSpan

    private let sampler: SpanSampler
    private let random: RandomSource
    private let record: @Sendable (SpanRecord) -> Void

    /// - Parameter record: Gets each span that has ended; must be fast.
    package init(
        sampler: SpanSampler, random: RandomSource = .system, record: @escaping @Sendable (SpanRecord) -> Void
    ) {
        self.sampler = sampler
        self.random = random
        self.record = record
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> ExportSpan {
        var context = context()
        let parent = context[TraceContextKey.self]
        let place = parent?.child(random) ?? .root(random, isSampled: sampler.records)
        context[TraceContextKey.self] = place
        return ExportSpan(
            operationName, kind, place, parent?.spanID, context,
            start: instant().nanosecondsSinceEpoch, record)
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

/// Decides by its id whether a new trace is recorded. A trace that a caller began follows the caller's decision.
package struct SpanSampler: Sendable, Hashable {
    /// The part of the ids that are recorded, of 2^56.
    private let threshold: UInt64

    /// - Parameter ratio: From 0 for none to 1 for all.
    package init(ratio: Double) {
        threshold = UInt64(max(0, min(ratio, 1)) * Double(1 << 56 as UInt64))
    }

    /// Whether the trace is recorded. The last seven bytes decide: the only ones that are random in all traces (W3C
    /// Trace Context Level 2, section 2.2.3.3), so that programs with one ratio decide alike.
    package func records(_ traceID: [UInt8]) -> Bool {
        traceID.suffix(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } < threshold
    }
}
