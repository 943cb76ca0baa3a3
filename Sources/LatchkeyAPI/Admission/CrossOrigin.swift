import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// Lets web frontends on other origins call the API from a browser (CORS, the Fetch standard): allowed origins, and the
/// origins of API keys.
struct CrossOrigin: Sendable {
    private let grants: [String: APIGrant]
    private let keyed: Set<String>
    private let stored: StoredAPIKeys

    /// - Parameter origins: As browsers write them in `Origin`: scheme, host and, unless it is the scheme's own, port.
    init(_ origins: [String], clientOrigins: [String: Set<String>], keys: APIKeys, stored: StoredAPIKeys) {
        grants = clientOrigins.mapValues { APIGrant(clients: $0) }
            .merging(origins.map { ($0, APIGrant()) }) { $1 }
        keyed = keys.origins
        self.stored = stored
    }

    /// The grant of a request's origin without an API key; nil if there is none.
    func grant(of request: Request) -> (origin: String, grant: APIGrant)? {
        guard !grants.isEmpty, let origin = Self.origin(of: request), let grant = grants[origin] else { return nil }
        return (origin, grant)
    }

    /// The origin of a request. Only ASCII, as browsers send it: other strings can be equal with different bytes.
    static func origin(of request: Request) -> String? {
        guard let origin = request.headers[.origin], origin.isASCII else { return nil }
        return origin
    }

    func isPreflight(_ request: Request) -> Bool {
        request.method == .options && request.headers[.accessControlRequestMethod] != nil
    }

    /// The response to a preflight request of an allowed origin; nil for any other request. Browsers cache it for at
    /// most two hours.
    func preflight(_ request: Request) async -> Response? {
        guard isPreflight(request), let origin = Self.origin(of: request) else { return nil }
        // A preflight does not name the key: any key for the origin admits it.
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

    /// Adds the CORS fields. Without allowed origins, responses do not depend on the origin.
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
