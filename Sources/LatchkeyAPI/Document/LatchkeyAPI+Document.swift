import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import Synchronization

/// `GET /openapi.json`.
extension LatchkeyAPI {
    package var routes: [(method: String, pattern: String)] { makeRouter().routes }

    func showDocument(_ request: Request) -> Response {
        let page = documentPage.withLock { page in
            let made =
                page
                ?? DocumentPage(
                    OpenAPIDocument(
                        version: version, sessionCookie: cookies.sessionName, refreshCookie: cookies.refreshName,
                        path: baseURL.path, features: features.map { type(of: $0) }, routes: routes))
            page = made
            return made
        }
        return page.response(for: request).unlessKnown(page.tag, to: request)
    }
}

extension Response {
    /// 304 in its place if the client has the content already (RFC 9110 section 13.1.2).
    /// - Parameter tag: The entity tag without a coding.
    func unlessKnown(_ tag: String, to request: Request) -> Response {
        let coded = tag.dropLast() + "-gzip\""
        guard EntityTag.list(request.headers.values(of: .ifNoneMatch), has: tag, String(coded)) else { return self }
        var unchanged = Response(status: .notModified)
        for name in [HTTPField.Name.eTag, .cacheControl, .vary] { unchanged.headers[name] = headers[name] }
        return unchanged
    }

    /// The entity tag of content without a coding (RFC 9110 section 8.8.3).
    static func tag(of body: [UInt8]) -> String {
        "\"\(Base64URL.encode(Array(SHA256.hash(data: body).prefix(12))))\""
    }
}

/// The document in each coding: made at the first request, then cached. All responses refer to the same bytes.
final class DocumentPage: Sendable {
    /// The entity tag of the document without a coding.
    let tag: String
    private let plain: [UInt8]
    /// Nil if there is no memory.
    private let gzip: [UInt8]?

    init(_ document: OpenAPIDocument) {
        let body = Array(document.json.text.utf8)
        tag = Response.tag(of: body)
        plain = body
        gzip = Gzip.compress(body, .thorough)
    }

    func response(for request: Request) -> Response {
        let accepted = AcceptEncoding(request.headers.values(of: .acceptEncoding))
        let coded = accepted.choosesGzip ? gzip : nil
        var headers: HTTPFields = [
            .contentType: "application/json; charset=utf-8", .cacheControl: "public, max-age=300", .eTag: tag,
            .vary: "Accept-Encoding",
        ]
        if coded != nil {
            headers[.contentEncoding] = "gzip"
            headers[.eTag] = tag.dropLast() + "-gzip\""
        }
        return Response(status: .ok, headers: headers, body: coded ?? plain, ownedBy: self)
    }
}
