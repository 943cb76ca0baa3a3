import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// Lets web frontends on other origins call the API from a browser (the Fetch standard's CORS protocol): those that are
/// let in by their origin, and those that an API key is for.
struct CrossOrigin: Sendable {
    /// What an origin alone is good for.
    private let grants: [String: APIGrant]
    /// The origins that a configured key is for.
    private let keyed: Set<String>
    private let stored: StoredAPIKeys

    /// - Parameters:
    ///   - origins: As browsers write them in `Origin`: scheme, host and, unless it is the scheme's own, port.
    ///   - clientOrigins: Those that are let in for certain clients only.
    init(_ origins: [String], clientOrigins: [String: Set<String>], keys: APIKeys, stored: StoredAPIKeys) {
        grants = clientOrigins.mapValues { APIGrant(clients: $0) }
            .merging(origins.map { ($0, APIGrant()) }) { $1 }
        keyed = keys.origins
        self.stored = stored
    }

    /// What a request's origin alone is good for; nil if nothing.
    func grant(of request: Request) -> (origin: String, grant: APIGrant)? {
        guard !grants.isEmpty, let origin = Self.origin(of: request), let grant = grants[origin] else { return nil }
        return (origin, grant)
    }

    /// The origin of a request. Browsers write origins in ASCII; what is not would be compared as text, where two
    /// spellings can be equal.
    static func origin(of request: Request) -> String? {
        guard let origin = request.headers[.origin], origin.isASCII else { return nil }
        return origin
    }

    /// The answer to a preflight request of an allowed origin; nil for any other request. Browsers keep it for two
    /// hours, which is as long as any does.
    func preflight(_ request: Request) async -> Response? {
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
            let origin = Self.origin(of: request)
        else { return nil }
        // It says nothing of the key that will come: whether some key is for the origin has to do.
        await stored.refresh()
        guard isAllowed(origin) else { return nil }
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: "GET, POST, PATCH, DELETE",
                .accessControlAllowHeaders: "Authorization, Content-Type, X-API-KEY",
                .accessControlMaxAge: "7200",
            ])
    }

    /// Adds what lets the frontend read an answer. Where no origin is allowed, answers do not depend on it.
    func mark(_ response: inout Response, for request: Request) {
        guard !grants.isEmpty || !keyed.isEmpty || !stored.origins.isEmpty else { return }
        response.headers.append(HTTPField(name: .vary, value: "Origin"))
        guard let origin = Self.origin(of: request), isAllowed(origin) else { return }
        response.headers.append(HTTPField(name: .accessControlAllowOrigin, value: origin))
        response.headers.append(
            HTTPField(
                name: .accessControlExposeHeaders,
                value: "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate"))
    }

    private func isAllowed(_ origin: String) -> Bool {
        grants[origin] != nil || keyed.contains(origin) || stored.origins.contains(origin)
    }
}
