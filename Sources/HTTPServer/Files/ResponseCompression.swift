import CLatchkeyZlib
import HTTPCore
import HTTPTypes
import Primitives

/// Compresses handlers' responses with gzip.
///
/// The length of a compressed response reveals what it has in common with text that an attacker put into it (BREACH).
/// So only cacheable responses to GET and HEAD are compressed: none with `Cache-Control: no-store` or `private`, none
/// that sets a cookie, and, for a request with credentials, only those marked public.
package enum ResponseCompression {
    /// Compresses the response if the client prefers gzip and it makes the content smaller.
    package static func apply(to response: inout Response, for request: Request) {
        guard response.content.count >= Gzip.worthwhileBytes, response.content.count <= Gzip.maximumBytes,
            response.status == .ok, request.method == .get || request.method == .head, isForEveryone(response, request),
            isUncoded(response), MediaTypes.isCompressible(response.headers[.contentType] ?? "")
        else { return }
        response.headers.append(HTTPField(name: .vary, value: "Accept-Encoding"))
        guard AcceptEncoding(request).choosesGzip, let coded = Gzip.compress(response.body, .quick),
            coded.count < response.body.count
        else { return }
        response.body = coded
        response.headers[.contentEncoding] = "gzip"
        // Another representation has another tag (RFC 9110 section 8.8.3.3).
        if let tag = response.headers[.eTag], tag.hasSuffix("\"") {
            response.headers[.eTag] = tag.dropLast() + "-gzip\""
        }
    }

    private static func isForEveryone(_ response: Response, _ request: Request) -> Bool {
        let directives = Set(tokens(response.headers[.cacheControl] ?? ""))
        guard directives.isDisjoint(with: ["no-store", "private", "no-transform"]), response.headers[.setCookie] == nil
        else { return false }
        let isAnonymous = request.headers.count(of: .authorization) == 0 && request.headers.count(of: .cookie) == 0
        return isAnonymous || directives.contains("public")
    }

    /// Whether the handler has not chosen a coding itself.
    private static func isUncoded(_ response: Response) -> Bool {
        response.headers[.contentEncoding] == nil && response.headers[.contentRange] == nil
            && !tokens(response.headers[.vary] ?? "").contains("accept-encoding")
    }

    /// The elements of a list in lower case, without values after `=`.
    private static func tokens(_ text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: ",")).map { element in
            let name = element.drop(while: ASCII.isWhitespace)
                .prefix { $0 != UInt8(ascii: "=") && !ASCII.isWhitespace($0) }
            return String(decoding: name.map(\.lowercasedASCII), as: UTF8.self)
        }
    }
}

/// The gzip coding (RFC 9110 section 8.4.1.3).
package enum Gzip {
    /// Fewer bytes fit into one packet either way.
    static let worthwhileBytes = 1024
    /// Compression blocks a loop; this much takes about ten milliseconds.
    static let maximumBytes = 1 << 20

    /// zlib's level, from 1 (fast) to 9 (small).
    package enum Effort: Int32 {
        /// For a response sent once.
        case quick = 4
        /// For cached content.
        case thorough = 9
    }

    /// The compressed bytes; nil if there is no memory.
    package static func compress(_ bytes: [UInt8], _ effort: Effort) -> [UInt8]? {
        // Deflate stores incompressible data with at most 5 bytes per 16 KiB; gzip adds a head and a trailer.
        let room = bytes.count + bytes.count / 1000 + 64
        let coded = [UInt8](unsafeUninitializedCapacity: room) { output, count in
            count = bytes.withUnsafeBufferPointer {
                czlib_gzip($0.baseAddress, $0.count, output.baseAddress, room, effort.rawValue)
            }
        }
        return coded.isEmpty ? nil : coded
    }
}
