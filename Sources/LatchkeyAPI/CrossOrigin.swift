import HTTPServer
import HTTPTypes
import Primitives

/// Lets web frontends on other, configured origins call the API from a browser (the Fetch standard's CORS protocol).
struct CrossOrigin: Sendable {
    private let origins: Set<String>

    /// - Parameter origins: As browsers write them in `Origin`: scheme, host and, unless it is the scheme's own, port.
    init(_ origins: [String]) {
        self.origins = Set(origins)
    }

    /// The request's origin, if it is a configured one.
    func allowedOrigin(of request: Request) -> String? {
        // Browsers write origins in ASCII; what is not would be compared as text, where two spellings can be equal.
        guard !origins.isEmpty, let origin = request.headers[.origin], origin.isASCII, origins.contains(origin) else {
            return nil
        }
        return origin
    }

    /// The answer to a preflight request of an allowed origin; nil for any other request.
    func preflight(_ request: Request) -> Response? {
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil,
            allowedOrigin(of: request) != nil
        else { return nil }
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: "GET, POST, PATCH, DELETE",
                .accessControlAllowHeaders: "Authorization, Content-Type, X-API-KEY",
                .accessControlMaxAge: "600",
            ])
    }

    /// Adds what lets the frontend read an answer. Without configured origins answers do not depend on the origin.
    func mark(_ response: inout Response, for request: Request) {
        guard !origins.isEmpty else { return }
        response.headers.append(HTTPField(name: .vary, value: "Origin"))
        guard let origin = allowedOrigin(of: request) else { return }
        response.headers.append(HTTPField(name: .accessControlAllowOrigin, value: origin))
        response.headers.append(
            HTTPField(name: .accessControlExposeHeaders, value: "X-Request-Id, Retry-After, WWW-Authenticate"))
    }
}
