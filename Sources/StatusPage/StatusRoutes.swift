import HTTPServer
import HTTPTypes
import LatchkeyAPI
import LatchkeyService
import Primitives
import SignIn

/// The routes of the status page: for this machine, and for administrators' API keys.
struct StatusRoutes {
    /// The pause between two events.
    private static let pause = Duration.seconds(2)

    let status: @Sendable () async throws -> ServiceStatus
    /// The capsule of a failure in the status; nil if there is none.
    var capsule: @Sendable (_ failure: String) async throws -> FailureExplanation? = { _ in nil }
    private let watchers = CountLimit(maximum: 16)

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        func add(_ path: String, _ show: @escaping Handler) {
            router.get(path) { request in
                try await api.admitAdministrator(request)
                return try await show(request)
            }
        }
        add("/status") { _ in StatusPage.response(try await status()) }
        add("/status/events") { try showEvents(to: $0) }
        add("/status/capsule") { try await showCapsule($0) }
    }

    /// `GET /status/events`: the status as server-sent events, until the reader goes or the server stops.
    private func showEvents(to request: Request) throws -> Response {
        // Taken before the response begins, so that a refusal is a response of its own.
        guard let watcher = CountLimit.Place(in: watchers) else { throw APIError.overloaded }
        return try request.stream(
            headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"]
        ) { writer in
            defer { withExtendedLifetime(watcher) {} }
            var sent: [UInt8] = []
            do {
                while true {
                    let now = Array(try await status().json.text.utf8)
                    // A comment keeps the connection alive. JSON of one line is an event (WHATWG HTML, section 9.2.5).
                    let begin = now == sent ? ": as before" : "event: status\ndata: "
                    try await writer.write(Array(begin.utf8) + (now == sent ? [] : now) + Array("\n\n".utf8))
                    sent = now
                    try await Task.sleep(for: Self.pause)
                }
            } catch {
                // The reader has gone, or the server stops: every event is complete.
            }
        }
    }

    /// `GET /status/capsule`: the capsule of a failure that the status page shows, as a page for a browser and as JSON
    /// for programs.
    private func showCapsule(_ request: Request) async throws -> Response {
        guard let id = try request.query["failure"] else {
            throw APIError.malformed("failure is missing. Follow the link of a failure on the status page.")
        }
        guard let capsule = try await capsule(id) else { throw APIError.noCapsule }
        if request.prefersHTML, try request.query["format"] != "json" {
            return StatusPage.capsule(capsule.lines, ofFailure: id)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: Array(capsule.json.text.utf8))
    }
}

extension APIError {
    static let noCapsule = APIError(
        .notFound, "not_found", .invalidRequest,
        "There is no capsule of this failure, or none any more. latchkey capsule list shows all capsules.")
}
