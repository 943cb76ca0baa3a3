import HTTPServer
import HTTPTypes
package import Primitives
package import Tracing

/// Runs each request in the trace of its `traceparent` (W3C Trace Context), and records a span if there is a tracer.
///
/// Beside that only `tracestate` is read, for the tracer: not `baggage`, nor the fields of other standards.
struct RequestTraces: Sendable {
    /// Nil for no tracing: then a request costs only a search for `traceparent`.
    let tracer: (any Tracer)?
    /// The server as its callers know it.
    let baseURL: BaseURL

    /// Whether a request may be part of a trace: then it needs a task, whose value the trace is.
    func mayTrace(_ request: Request) -> Bool { tracer != nil || request.headers.count(of: .traceparent) > 0 }

    /// - Parameter route: The pattern of the request's path; nil without a route.
    func respond(
        to request: Request, at route: String?, _ handle: () async throws -> Response
    ) async throws -> Response {
        let parent = request.headers[.traceparent].flatMap(TraceContext.init(traceparent:))
        if let tracer { return try await record(request, at: route, below: parent, with: tracer, handle) }
        guard let parent else { return try await handle() }
        return try await TraceContext.$current.withValue(parent) { try await handle() }
    }

    private func record(
        _ request: Request, at route: String?, below parent: TraceContext?, with tracer: some Tracer,
        _ handle: () async throws -> Response
    ) async throws -> Response {
        var context = InstrumentationContext.topLevel
        if let parent {
            tracer.extract(
                TraceFields(parent: parent, state: request.headers[.tracestate]), into: &context,
                using: TraceFields.Reader())
        }
        let method = Self.methods.contains(request.method) ? request.method.rawValue : "_OTHER"
        let scheme: String = baseURL.isHTTPS ? "https" : "http"
        let name = route.map { "\(method) \($0)" } ?? method
        return try await tracer.withSpan(name, context: context, ofKind: .server) { span in
            // Names of OpenTelemetry's semantic conventions for HTTP. The path itself may have a handle in it.
            span.updateAttributes { attributes in
                attributes["http.request.method"] = method
                attributes["url.scheme"] = scheme
                if let route { attributes["http.route"] = route }
                // The request's own `Host` could be any text.
                if let host = baseURL.host { attributes["server.address"] = host }
            }
            let present = TraceContext(of: span, tracer) ?? parent
            let response = try await TraceContext.$current.withValue(present) { try await handle() }
            let isError = response.status.code >= 500
            span.updateAttributes { attributes in
                attributes["http.response.status_code"] = response.status.code
                if isError { attributes["error.type"] = String(response.status.code) }
            }
            if isError { span.setStatus(SpanStatus(code: .error)) }
            return response
        }
    }

    /// Other methods are free text, and span names must be few.
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]
}

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

extension TraceContext {
    /// The context of a span; nil if the tracer writes no valid `traceparent`.
    package init?(of span: some Span, _ tracer: some Tracer) {
        var written: String?
        tracer.inject(span.context, into: &written, using: ParentWriter())
        guard let written else { return nil }
        self.init(traceparent: written)
    }
}

/// Takes only `traceparent` of the fields that a tracer writes: providers get nothing else.
private struct ParentWriter: Injector {
    func inject(_ value: String, forKey key: String, into written: inout String?) {
        if key.lowercased() == "traceparent" { written = value }
    }
}
