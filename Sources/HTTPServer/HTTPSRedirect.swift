import HTTPTypes

/// Sends clients from plain HTTP to HTTPS (RFC 9110 section 15.4.9).
enum HTTPSRedirect {
    /// - Parameter origin: Scheme, host and port to send to. What the request says of a host counts for nothing: whoever
    ///   can have a cache or a browser keep the answer must not choose where it leads.
    static func handler(to origin: String) -> Handler {
        { request in
            Response(status: .permanentRedirect, headers: [.location: origin + target(of: request)])
        }
    }

    /// Path and query, with all in the path written as escapes that stands for something else without.
    private static func target(of request: Request) -> String {
        guard request.path != "*" else { return "/" }
        var target = ""
        for byte in request.path.utf8 {
            if isPath(byte) {
                target.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                target += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return request.head.rawQuery.map { target + "?" + $0 } ?? target
    }

    private static func isPath(_ byte: UInt8) -> Bool {
        byte < 0x80 && ASCII.isTarget(byte) && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "%")
    }
}
