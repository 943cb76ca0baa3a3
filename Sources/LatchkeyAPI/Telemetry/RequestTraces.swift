import HTTPServer
import HTTPTypes
import Primitives
import Tracing

/// Answers each request inside the trace that its `traceparent` names (W3C Trace Context), if it names one; and as a span of
/// it, where there is a tracer to be told.
///
/// Nothing else of a trace is taken from a request but `tracestate`, and that for the tracer alone: not `baggage`, nor the
/// fields of other standards.
struct RequestTraces: Sendable {
    /// Nil where nobody listens: then tracing costs a request no more than a look for `traceparent`.
    let tracer: (any Tracer)?

    /// - Parameter route: The pattern of the request's path; nil where no route is.
    func answer(
        _ request: Request, at route: @autoclosure () -> String?, _ answer: () async -> Response
    ) async -> Response {
        let parent = request.headers[.traceparent].flatMap(TraceContext.init(traceparent:))
        if let tracer { return await record(request, at: route(), below: parent, with: tracer, answer) }
        guard let parent else { return await answer() }
        return await TraceContext.$current.withValue(parent) { await answer() }
    }

    private func record(
        _ request: Request, at route: String?, below parent: TraceContext?, with tracer: some Tracer,
        _ answer: () async -> Response
    ) async -> Response {
        var context = InstrumentationContext.topLevel
        if let parent {
            tracer.extract(
                TraceFields(parent: parent, state: request.headers[.tracestate]), into: &context,
                using: TraceFields.Reader())
        }
        let method = Self.methods.contains(request.method) ? request.method.rawValue : "_OTHER"
        let name = route.map { "\(method) \($0)" } ?? method
        return await tracer.withSpan(name, context: context, ofKind: .server) { span in
            // Names of OpenTelemetry's semantic conventions for HTTP. The path itself may have a handle in it.
            span.updateAttributes { attributes in
                attributes["http.request.method"] = method
                if let route { attributes["http.route"] = route }
            }
            let present = TraceContext(of: span, tracer) ?? parent
            let response = await TraceContext.$current.withValue(present) { await answer() }
            span.updateAttributes { $0["http.response.status_code"] = response.status.code }
            if response.status.code >= 500 { span.setStatus(SpanStatus(code: .error)) }
            return response
        }
    }

    /// Anybody can write anything for a method, and spans are counted by their names.
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]
}

/// What a tracer may read of a request.
private struct TraceFields: Sendable {
    let parent: TraceContext
    let state: String?

    struct Reader: Extractor {
        func extract(key: String, from fields: TraceFields) -> String? {
            switch key.lowercased() {
            case "traceparent": fields.parent.traceparent
            case "tracestate": fields.state
            default: nil
            }
        }
    }
}

extension HTTPField.Name {
    /// W3C Trace Context section 3.2.
    fileprivate static let traceparent = HTTPField.Name("traceparent") ?? .from
    /// W3C Trace Context section 3.3.
    fileprivate static let tracestate = HTTPField.Name("tracestate") ?? .from
}
