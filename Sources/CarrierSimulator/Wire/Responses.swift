import HTTPServer
import HTTPTypes

extension Response {
    static func json(
        _ object: JSONMembers, status: HTTPResponse.Status = .ok, cacheControl: String = "no-store"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: cacheControl],
            body: object.serialized)
    }

    /// An HTML page. It loads only its own style sheet and script, sends no referrer and cannot be framed.
    static func page(_ page: HTML, status: HTTPResponse.Status = .ok) -> Response {
        var headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
            .contentSecurityPolicy:
                "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; "
                + "frame-ancestors 'none'",
        ]
        if let policy = HTTPField.Name("Referrer-Policy") { headers[policy] = "no-referrer" }
        return Response(status: status, headers: headers, body: Array(page.source.utf8))
    }

    /// A redirect, by default to a GET request (RFC 9110 section 15.4.4).
    static func redirect(to location: String, status: HTTPResponse.Status = .seeOther) -> Response {
        var headers: HTTPFields = [.location: location, .cacheControl: "no-store"]
        if let policy = HTTPField.Name("Referrer-Policy") { headers[policy] = "no-referrer" }
        return Response(status: status, headers: headers)
    }

    /// The HTML page of a broken backend.
    static func brokenPage(_ status: HTTPResponse.Status) -> Response {
        Response(
            status: status, contentType: "text/html; charset=utf-8",
            text: "<!doctype html><title>Something went wrong</title><p>Please try again later.</p>\n")
    }

    /// The response with permission for pages on this machine to read it. No other origin may.
    func shared(withPageOf request: Request) -> Response {
        var response = self
        response.headers[.vary] = "Origin"
        guard let origin = request.headers[.origin],
            ["http://127.0.0.1:", "http://localhost:"].contains(where: origin.hasPrefix)
        else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        return response
    }
}
