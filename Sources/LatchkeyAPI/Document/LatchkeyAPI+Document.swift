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
        let page = documentPage.get {
            OpenAPIDocument(
                version: version, sessionCookie: cookies.sessionName, refreshCookie: cookies.refreshName,
                path: publicAddress.path)
        }
        let known = request.headers.values(of: .ifNoneMatch).map { $0.replacing("-gzip\"", with: "\"") }
        guard EntityTag.list(known, has: page.tag) else { return page.response }
        return Response(status: .notModified, headers: [.eTag: page.tag, .cacheControl: DocumentPage.cacheControl])
    }
}

/// The response with the document: made at the first request, then cached.
final class DocumentPage: Sendable {
    struct Made: Sendable {
        /// An entity tag (RFC 9110 section 8.8.3).
        let tag: String
        let response: Response
    }

    static let cacheControl = "public, max-age=300"

    private let made = Mutex<Made?>(nil)

    func get(_ document: () -> OpenAPIDocument) -> Made {
        made.withLock { made in
            if let made { return made }
            let page = Self.make(document())
            made = page
            return page
        }
    }

    private static func make(_ document: OpenAPIDocument) -> Made {
        let body = Array(document.json.text.utf8)
        let tag = "\"\(Base64URL.encode(Array(SHA256.hash(data: body).prefix(12))))\""
        return Made(
            tag: tag,
            response: Response(
                status: .ok,
                headers: [
                    .contentType: "application/json; charset=utf-8", .cacheControl: cacheControl, .eTag: tag,
                    .xContentTypeOptions: "nosniff",
                ], body: body))
    }
}
