import HTTPServer
import HTTPTypes
package import Primitives
import SignIn

/// The operator's status page: for this machine, and for operators' API keys.
extension LatchkeyAPI {
    /// `GET /status`: the page with the current status.
    func showStatus(_ request: Request) async throws -> Response {
        try await admitOperator(request)
        guard let status = administratorPages.status else { throw APIError.nothingThere }
        return StatusPage.response(await status())
    }

    /// `GET /status/events`: the status as server-sent events, until the reader goes or the server stops.
    func showStatusEvents(_ request: Request) async throws -> Response {
        try await admitOperator(request)
        guard let status = administratorPages.status else { throw APIError.nothingThere }
        guard let watcher = StatusWatcher(in: statusWatchers) else { throw APIError.overloaded }
        let pause = administratorPages.statusPause
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"]
        ) { writer in
            defer { withExtendedLifetime(watcher) {} }
            var sent: [UInt8] = []
            do {
                while true {
                    let now = Array(await status().json.text.utf8)
                    // A comment keeps the connection alive.
                    try await writer.write(now == sent ? Array(": as before\n\n".utf8) : Self.event(now))
                    sent = now
                    try await Task.sleep(for: pause)
                }
            } catch {
                // The reader has gone, or the server stops: every event is complete.
            }
        }
    }

    /// `GET /status/capsule`: the capsule of a failure that the status page shows, as a page for a browser and as JSON
    /// for programs.
    func showCapsule(_ request: Request) async throws -> Response {
        try await admitOperator(request)
        guard let capsule = administratorPages.capsule else { throw APIError.nothingThere }
        guard let id = try request.query["failure"] else {
            throw APIError.malformed("failure is missing. Follow the link of a failure on the status page.")
        }
        guard let capsule = try await capsule(id) else { throw APIError.noCapsule }
        if request.prefersHTML, try request.query["format"] != "json" {
            return CapsulePage.response(capsule.lines, ofFailure: id)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: Array(capsule.json.text.utf8))
    }

    /// JSON of one line as an event (WHATWG HTML, section 9.2.5).
    private static func event(_ json: [UInt8]) -> [UInt8] {
        Array("event: status\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    /// Admits operators: directly from this machine, or with an operator's API key.
    /// - Throws: 404 for others; 401 or 403 for an API key that is not an operator's.
    func admitOperator(_ request: Request) async throws {
        if request.headers.count(of: .apiKey) > 0 {
            guard try await admit(request).isOperator else { throw APIError.notForOperators }
        } else {
            // Against DNS rebinding: another site's name could resolve to this machine.
            guard statusAllowlist.contains(request), Self.isNamedLocally(request), !Self.isOfAnotherSite(request) else {
                throw APIError.nothingThere
            }
        }
    }

    /// Whether a browser reports a page of another origin, even one that the API allows.
    private static func isOfAnotherSite(_ request: Request) -> Bool {
        // A browser sends each once. The first of several is not the whole value.
        guard request.headers.count(of: .secFetchSite) <= 1, request.headers.count(of: .origin) <= 1 else {
            return true
        }
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" { return true }
        guard let origin = request.headers[.origin] else { return false }
        let host = request.headers[.host] ?? ""
        return origin != "http://\(host)" && origin != "https://\(host)"
    }

    /// Whether the Host field is a loopback name or address.
    private static func isNamedLocally(_ request: Request) -> Bool {
        guard let host = request.headers[.host] else { return false }
        let name = host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
        return name.lowercased() == "localhost" || IPAddress(String(name))?.isLoopback == true
    }
}

extension APIError {
    static let noCapsule = APIError(
        .notFound, "not_found", .invalidRequest,
        "There is no capsule of this failure, or none any more. latchkey capsule list shows all capsules.")

    static let notForOperators = APIError(
        .forbidden, "unauthorized_client", .configurationError,
        "This API key is not an operator's. The operator must give it operator: true in the configuration.")
}

/// A place among the watchers of the status events, taken before the response begins, so that a refusal is a response
/// of its own. It is given back when its stream ends, or when it was never read.
final class StatusWatcher: Sendable {
    private let limit: CountLimit

    /// Nil if all places are taken.
    init?(in limit: CountLimit) {
        guard limit.enter() else { return nil }
        self.limit = limit
    }

    deinit { limit.leave() }
}

/// The pages for operators and their monitoring only.
package struct AdministratorPages: Sendable {
    /// The current metrics in the Prometheus text format; nil for none.
    package var metrics: (@Sendable () async -> [UInt8])?
    /// Whether the metrics are also served beside the API.
    package var servesMetricsHere = true
    /// The addresses that may read the metrics there.
    package var allowedAddresses = ["127.0.0.0/8", "::1"].compactMap(IPAddressRange.init)

    /// The current status; nil for no status page.
    package var status: (@Sendable () async -> ServiceStatus)?
    /// The capsule of a failure in the status; nil if there is none. Nil if capsules are not shown.
    package var capsule: (@Sendable (_ failure: String) async throws -> ShownCapsule?)?
    /// The pause between two events of the status page.
    package var statusPause = Duration.seconds(2)

    /// Loopback only, and no pages.
    package init() {}
}

/// A capsule for programs, and its lines for people.
package struct ShownCapsule: Sendable {
    package let json: JSONValue
    package let lines: [String]

    package init(json: JSONValue, lines: [String]) {
        self.json = json
        self.lines = lines
    }
}
