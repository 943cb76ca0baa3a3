import Primitives

/// Media types by file name, and which of them compress well.
enum MediaTypes {
    private static let byExtension = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8", "ts": "text/plain; charset=utf-8", "txt": "text/plain; charset=utf-8",
        "md": "text/markdown; charset=utf-8", "csv": "text/csv; charset=utf-8",
        "json": "application/json", "map": "application/json", "jwks": "application/jwk-set+json",
        "webmanifest": "application/manifest+json", "xml": "application/xml", "yaml": "application/yaml",
        "yml": "application/yaml", "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg",
        "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "avif": "image/avif",
        "ico": "image/x-icon", "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
        "wasm": "application/wasm", "pdf": "application/pdf", "gz": "application/gzip", "zip": "application/zip",
        "mp4": "video/mp4", "webm": "video/webm", "mp3": "audio/mpeg", "pem": "application/x-pem-file",
    ]

    /// The type of a file; `application/octet-stream` for unknown names.
    static func type(ofFileNamed name: String) -> String {
        if name == "apple-app-site-association" { return "application/json" }
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        return byExtension[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }

    /// Whether gzip makes a type much smaller: text. Images, audio and most fonts are compressed already.
    static func isCompressible(_ type: String) -> Bool {
        let essence = MediaTypeText.essence(of: type) ?? ""
        return essence.hasPrefix("text/") || essence.hasSuffix("+json") || essence.hasSuffix("+xml")
            || compressible.contains(essence)
    }

    private static let compressible: Set<String> = [
        "application/json", "application/javascript", "application/xml", "application/yaml", "application/wasm",
        "image/x-icon", "font/ttf", "font/otf",
    ]
}
