import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// The operator's status page: for this very machine, and for whoever has an API key of an operator's.
extension LatchkeyAPI {
    /// `GET /status`: the page, as things stand now.
    func showStatus(_ request: Request) async throws -> Response {
        try await admitOperator(request)
        guard let status = operatorPages.status else { throw APIError.nothingThere }
        return StatusPage.response(await status())
    }

    /// `GET /status/events`: how things stand, as server-sent events, until the reader goes or the server stops.
    func showStatusEvents(_ request: Request) async throws -> Response {
        try await admitOperator(request)
        guard let status = operatorPages.status else { throw APIError.nothingThere }
        guard statusWatchers.hasRoom else { throw APIError.overloaded }
        let pause = operatorPages.statusPause
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store",
                .xContentTypeOptions: "nosniff",
            ]
        ) { [statusWatchers] writer in
            // Of two that came at once, both may have found room. An end that is none tells this one to come again.
            guard statusWatchers.enter() else { throw APIError.overloaded }
            defer { statusWatchers.leave() }
            var told: [UInt8] = []
            do {
                while true {
                    let now = Array(await status().json.text.utf8)
                    // A comment keeps the connection known to be alive where there is nothing new.
                    try await writer.write(now == told ? Array(": as before\n\n".utf8) : Self.event(now))
                    told = now
                    try await Task.sleep(for: pause)
                }
            } catch {
                // Nobody reads on, or the server stops: no event is left half said.
            }
        }
    }

    /// JSON of one line as an event (WHATWG HTML, section 9.2.5).
    private static func event(_ json: [UInt8]) -> [UInt8] {
        Array("event: status\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    /// Lets operators in: from this machine, with nobody between, or with an API key that says it is an operator's.
    /// - Throws: 404 for anybody else; 401 or 403 for who shows a key that is none of an operator's.
    private func admitOperator(_ request: Request) async throws {
        if request.headers.count(of: .apiKey) > 0 {
            guard try await admit(request).isOperator else { throw APIError.notForOperators }
        } else {
            // A page of elsewhere could have its own name lead to this machine, and read what the browser here may.
            guard statusAllowlist.include(request), Self.isNamedLocally(request), !Self.isOfAnotherSite(request) else {
                throw APIError.nothingThere
            }
        }
    }

    /// Whether a browser says that a page of elsewhere asks: also one that the API lets in by its origin.
    private static func isOfAnotherSite(_ request: Request) -> Bool {
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" { return true }
        guard let origin = request.headers[.origin] else { return false }
        let host = request.headers[.host] ?? ""
        return origin != "http://\(host)" && origin != "https://\(host)"
    }

    /// Whether the request was sent to this machine by one of the names that lead nowhere else.
    private static func isNamedLocally(_ request: Request) -> Bool {
        guard let host = request.headers[.host] else { return false }
        let name = host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
        return name.lowercased() == "localhost" || IPAddress(String(name))?.isLoopback == true
    }
}

extension APIError {
    static let notForOperators = APIError(
        .forbidden, "unauthorized_client", .configurationError,
        "This API key is not an operator's. The operator has to give it operator: true in the configuration.")
}

extension HTTPField.Name {
    fileprivate static let host = HTTPField.Name("Host") ?? .from
}
