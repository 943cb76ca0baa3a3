import HTTPServer
import HTTPTypes

extension Response {
    /// A JSON answer.
    /// - Parameter cacheControl: what stands in `Cache-Control`; by default the answer is not to be kept.
    static func json(
        _ object: JSONMembers, status: HTTPResponse.Status = .ok, cacheControl: String = "no-store"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: cacheControl],
            body: object.serialized)
    }

    /// A page. It loads its style sheet from here and nothing else, tells nobody where its reader came from, and is in
    /// nobody's frame.
    static func page(_ page: HTML, status: HTTPResponse.Status = .ok) -> Response {
        var headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
            .contentSecurityPolicy:
                "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
            .xContentTypeOptions: "nosniff",
        ]
        if let policy = HTTPField.Name("Referrer-Policy") { headers[policy] = "no-referrer" }
        return Response(status: status, headers: headers, body: Array(page.source.utf8))
    }

    /// Sends the browser elsewhere, with GET (RFC 9110 section 15.4.4).
    static func redirect(to location: String, status: HTTPResponse.Status = .seeOther) -> Response {
        var headers: HTTPFields = [.location: location, .cacheControl: "no-store"]
        if let policy = HTTPField.Name("Referrer-Policy") { headers[policy] = "no-referrer" }
        return Response(status: status, headers: headers)
    }

    /// What a broken backend shows: a page where JSON was expected.
    static func brokenPage(_ status: HTTPResponse.Status) -> Response {
        Response(
            status: status, contentType: "text/html; charset=utf-8",
            text: "<!doctype html><title>Something went wrong</title><p>Please try again later.</p>\n")
    }
}
