package import Primitives
package import Tracing

extension TraceContext {
    /// The context of a span; nil if the tracer writes no valid `traceparent`.
    package init?(of span: some Span, _ tracer: some Tracer) {
        var written: String?
        tracer.inject(span.context, into: &written, using: ParentWriter())
        guard let written else { return nil }
        self.init(traceparent: written)
    }
}

/// Takes only `traceparent` of the fields that a tracer writes: carriers get nothing else.
private struct ParentWriter: Injector {
    func inject(_ value: String, forKey key: String, into written: inout String?) {
        if key.lowercased() == "traceparent" { written = value }
    }
}
