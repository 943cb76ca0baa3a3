package import Primitives
package import Tracing

extension TraceContext {
    /// Where a tracer says that one of its spans stands; nil where it does not write `traceparent`, or no good one.
    package init?(of span: some Span, _ tracer: some Tracer) {
        var written: String?
        tracer.inject(span.context, into: &written, using: ParentWriter())
        guard let written else { return nil }
        self.init(traceparent: written)
    }
}

/// Takes `traceparent` from what a tracer would tell others, and leaves the rest: carriers are told of nothing else.
private struct ParentWriter: Injector {
    func inject(_ value: String, forKey key: String, into written: inout String?) {
        if key.lowercased() == "traceparent" { written = value }
    }
}
