import HTTPServer
package import HTTPTypes
import Logging
package import Primitives
import SignIn
import StorageModel
import Synchronization
package import Tracing

/// A completed request, without data of the user or of the request.
package struct CompletedRequest: Sendable {
    /// The number of its route in ``LatchkeyAPI/routePatterns``; nil without a route.
    package let route: Int?
    package let method: HTTPRequest.Method
    package let status: Int
    package let nanoseconds: UInt64
}

/// Gets every completed request; must be fast.
package typealias RequestObserver = @Sendable (CompletedRequest) -> Void

/// Why a request was refused with 503 before any work was done for it.
package enum OverloadReason: String, Sendable {
    /// The limit of requests in progress.
    case concurrent
    /// The event loop has more to do than it can.
    case late
}

package struct RequestLoad: Sendable {
    package var inProgress = 0
    /// Requests refused with 503 because of overload, by reason; every reason is present, also with 0.
    package var shed: [(reason: OverloadReason, count: UInt64)] = []
    /// Requests refused with 429, by limit; every limit is present, also with 0.
    package var rateLimited: [(limit: String, count: UInt64)] = []

    package init() {}

    package var shedCount: UInt64 { shed.reduce(0) { $0 + $1.count } }
}

/// Logs each request: at `debug`, and server errors at `info`, of those without an API key ten a minute of each status.
struct AccessLog: Sendable {
    let logger: Logger
    let refusals: LogSamplers

    /// - Parameter error: The cause of a failure of this server is in the line.
    func write(_ request: Request, status: Int, took nanoseconds: UInt64, after error: (any Error)? = nil) {
        let level: Logger.Level = status >= 500 ? .info : .debug
        guard logger.logLevel <= level else { return }
        func line() -> Logger.Metadata {
            var metadata: Logger.Metadata = [
                "method": "\(request.method.rawValue)", "path": "\(Self.withoutHandle(Self.printable(request.path)))",
                "status": .stringConvertible(status), "request_id": "\(request.id)",
                "peer": "\(request.peer)",
                "ms": .stringConvertible(Stopwatch.milliseconds(nanoseconds)),
            ]
            switch (error as? NoticedError)?.error ?? error {
            case let failure as SignInError where failure.fault == .ours:
                metadata["cause"] = failure.cause.map { "\($0)" }
            case let failure as StorageError: metadata["cause"] = "\(failure.reason)"
            default: break
            }
            return metadata
        }
        // Without an API key anyone can send any number.
        if request.headers.count(of: .apiKey) == 0 {
            refusals.log(level, "request", of: "request \(status)", to: logger, line)
        } else {
            logger.log(level: level, "request", metadata: line())
        }
    }

    /// Logs a request of a sign-in that was refused before it reached the use case, which logs all others.
    func write(_ error: APIError) {
        guard let correlationID = error.correlationID, error.offer == nil else { return }
        refusals.log(.info, "request refused", of: "request refused \(error.code)", to: logger) {
            [
                "correlation_id": "\(correlationID)", "outcome": "\(error.code)",
                "error_type": "\(error.errorType.rawValue)", "cause": "\(error.description)",
            ]
        }
    }

    /// The path, without the handle of a backchannel authentication or of a sign-in that was started, which can be
    /// exchanged for a session, and without the application's path that Envoy appends. The handle of a mistyped path is
    /// left out, too: the request is refused, and the handle stays valid.
    private static func withoutHandle(_ path: String) -> String {
        let segments = path.split(ascii: "/", omittingEmptySubsequences: false)
        let last = segments.firstIndex {
            ["zenkey-async-signin", "backchannel", "start", "forward-auth"].contains($0.lowercased())
        }
        guard let last, segments[(last + 1)...].contains(where: { !$0.isEmpty && $0 != "notification" }) else {
            return path
        }
        return segments[...last].joined(separator: "/") + "/-"
    }

    /// At most 200 bytes, with a question mark for bytes that could break or forge a line. (The path has no query.)
    private static func printable(_ path: String) -> String {
        String(
            decoding: path.utf8.prefix(200).map { $0.isVisibleASCII ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

/// Makes a short id for each request: six characters of this process, a hyphen, and a count in base 36.
///
/// Up to fifteen bytes, which a `String` holds without an allocation.
final class RequestIDs: Sendable {
    private let alphabet = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    private let process: [UInt8]
    private let count = Atomic<UInt64>(0)

    init(random: RandomSource) {
        process = random.bytes(6).map { [alphabet] in alphabet[Int($0) % alphabet.count] } + [UInt8(ascii: "-")]
    }

    /// In base 36, written here because it costs a third of what `String(_:radix:)` does.
    func next() -> String {
        // The greatest number has 13 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: process.count + 13) { id in
            var (first, rest) = (id.count, count.wrappingAdd(1, ordering: .relaxed).newValue)
            repeat {
                first -= 1
                id.initializeElement(at: first, to: alphabet[Int(rest % 36)])
                rest /= 36
            } while rest > 0
            first -= process.count
            _ = id[first...].initialize(fromContentsOf: process)
            return String(decoding: UnsafeBufferPointer(rebasing: id[first...]), as: UTF8.self)
        }
    }
}

/// Runs each request in the trace of its `traceparent` (W3C Trace Context), and records a span if there is a tracer.
///
/// Beside that only `tracestate` is read, for the tracer: not `baggage`, nor the fields of other standards.
struct RequestTraces: Sendable {
    /// Nil for no tracing: then a request costs only a search for `traceparent`.
    let tracer: (any Tracer)?
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
            var fields = ["traceparent": parent.traceparent]
            fields["tracestate"] = request.headers[.tracestate]
            tracer.extract(fields, into: &context, using: FieldReading())
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

private struct FieldReading: Extractor {
    func extract(key: String, from fields: [String: String]) -> String? { fields[key.lowercased()] }
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
