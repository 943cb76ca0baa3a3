import HTTPServer
import HTTPTypes

/// The few small files of a site, held in memory.
public struct StaticPages: Sendable {
    /// By the path they are served at.
    let pages: [String: Response]

    /// - Parameter files: Contents by name relative to the site's folder, such as `style.css`. `index.html` is served
    ///   at `/`.
    public init(_ files: [String: [UInt8]]) {
        let pages = files.map { name, content in
            (name == "index.html" ? "/" : "/" + name, Self.response(name: name, content))
        }
        self.pages = Dictionary(pages, uniquingKeysWith: { first, _ in first })
    }

    /// Whether there is nothing to serve.
    public var isEmpty: Bool { pages.isEmpty }

    private static func response(name: String, _ content: [UInt8]) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: contentType(of: name),
                .cacheControl: "public, max-age=300",
                .xContentTypeOptions: "nosniff",
                .referrerPolicy: "no-referrer",
                .contentSecurityPolicy: """
                default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
                frame-ancestors 'none'
                """,
            ], body: content)
    }

    private static func contentType(of name: String) -> String {
        guard let dot = name.lastIndex(of: "."), !name[dot...].contains("/") else {
            // `apple-app-site-association`, the one file without an extension that sites have.
            return "application/json"
        }
        switch name[name.index(after: dot)...].lowercased() {
        case "html": return "text/html; charset=utf-8"
        case "css": return "text/css; charset=utf-8"
        case "js": return "text/javascript; charset=utf-8"
        case "txt", "ts": return "text/plain; charset=utf-8"
        case "json": return "application/json"
        case "svg": return "image/svg+xml"
        case "png": return "image/png"
        case "ico": return "image/x-icon"
        default: return "application/octet-stream"
        }
    }
}
