import LatchkeyAPI
import Logging
import Primitives
import Tracing

/// Sends outbound requests as spans of the current trace, with a `traceparent` field (W3C Trace Context), and logs each
/// with its duration, at `verbose`. No path and no query is logged.
struct ObservedClient: HTTPClient {
    let client: any HTTPClient
    /// Nil without a tracer: then an incoming trace is passed on, and no new one is started.
    let tracer: (any Tracer)?
    let logger: Logger

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        if let tracer { return try await record(request, with: tracer) }
        return try await log(request.carrying(TraceContext.current?.child()))
    }

    private func record(
        _ request: OutboundRequest, with tracer: some Tracer
    ) async throws(OutboundError) -> OutboundResponse {
        let span = tracer.startSpan(request.method.rawValue, ofKind: .client)
        defer { span.end() }
        // OpenTelemetry's semantic conventions for HTTP, without the URL, which identifies the sign-in.
        span.updateAttributes { attributes in
            attributes["http.request.method"] = request.method.rawValue
            attributes["server.address"] = request.url.host
            attributes["server.port"] = Int(request.url.port)
            if let destination = request.destination { attributes["latchkey.step"] = destination.step.rawValue }
        }
        do throws(OutboundError) {
            let response = try await log(
                request.carrying(TraceContext(of: span, tracer) ?? TraceContext.current?.child()))
            let isError = response.status >= 400
            span.updateAttributes { attributes in
                attributes["http.response.status_code"] = response.status
                if isError { attributes["error.type"] = String(response.status) }
            }
            if isError { span.setStatus(SpanStatus(code: .error)) }
            return response
        } catch {
            span.updateAttributes { $0["error.type"] = error.code.rawValue }
            span.setStatus(SpanStatus(code: .error))
            throw error
        }
    }

    private func log(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard logger.logLevel <= .debug else { return try await client.send(request) }
        let stopwatch = Stopwatch()
        do throws(OutboundError) {
            let response = try await client.send(request)
            write(request, stopwatch, "status", .stringConvertible(response.status))
            return response
        } catch {
            write(request, stopwatch, "transport", "\(error.fault)")
            throw error
        }
    }

    private func write(
        _ request: OutboundRequest, _ stopwatch: Stopwatch, _ name: String, _ outcome: Logger.MetadataValue
    ) {
        var metadata: Logger.Metadata = [
            "method": "\(request.method.rawValue)", "host": "\(request.url.authority)", name: outcome,
            "ms": .stringConvertible(Stopwatch.milliseconds(stopwatch.nanoseconds)),
        ]
        if let destination = request.destination { metadata["step"] = "\(destination.step.rawValue)" }
        if let correlationID = request.correlationID { metadata["correlation_id"] = "\(correlationID)" }
        logger.debug("outbound request", metadata: metadata)
    }
}

extension OutboundRequest {
    fileprivate func carrying(_ context: TraceContext?) -> OutboundRequest {
        guard let context else { return self }
        return altered(self) { $0.headers.append(("traceparent", context.traceparent)) }
    }
}
