import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import Synchronization

/// `GET /openapi.json`.
extension LatchkeyAPI {
    /// The methods and patterns of all routes.
    package var routes: [(method: String, pattern: String)] { makeRouter().routes }

    func showDocument(_ request: Request) -> Response {
        let page = documentPage.withLock { page in
            let made =
                page
                ?? DocumentPage(
                    OpenAPIDocument(
                        version: version, sessionCookie: cookies.sessionName, refreshCookie: cookies.refreshName,
                        path: baseURL.path))
            page = made
            return made
        }
        let known = request.headers.values(of: .ifNoneMatch).map { $0.replacing("-gzip\"", with: "\"") }
        guard EntityTag.list(known, has: page.tag) else { return page.response }
        return Response(status: .notModified, headers: [.eTag: page.tag, .cacheControl: DocumentPage.cacheControl])
    }
}

/// The response with the document: made at the first request, then cached.
struct DocumentPage: Sendable {
    static let cacheControl = "public, max-age=300"

    /// An entity tag (RFC 9110 section 8.8.3).
    let tag: String
    let response: Response

    init(_ document: OpenAPIDocument) {
        let body = Array(document.json.text.utf8)
        tag = "\"\(Base64URL.encode(Array(SHA256.hash(data: body).prefix(12))))\""
        response = Response(
            status: .ok,
            headers: [
                .contentType: "application/json; charset=utf-8", .cacheControl: Self.cacheControl, .eTag: tag,
                .xContentTypeOptions: "nosniff",
            ], body: body)
    }
}
