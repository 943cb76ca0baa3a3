import HTTPCore
import HTTPTypes
import Primitives

/// Redirects clients from HTTP to HTTPS (RFC 9110 section 15.4.9).
enum HTTPSRedirect {
    /// - Parameter origin: Scheme, host and port of the target. The request's host is ignored: a client that can make a
    ///   cache or a browser store the response must not choose its target.
    static func handler(to origin: String) -> ImmediateHandler {
        { request in
            .value(Response(status: .permanentRedirect, headers: [.location: origin + target(of: request)]))
        }
    }

    /// Path and query; special bytes of the path are escaped again.
    private static func target(of request: Request) -> String {
        guard request.path != "*" else { return "/" }
        let path = request.path.utf8.map { byte in
            isPath(byte) ? String(UnicodeScalar(byte)) : "%" + [byte].hexadecimal.uppercased()
        }
        return path.joined() + (request.head.rawQuery.map { "?" + $0 } ?? "")
    }

    private static func isPath(_ byte: UInt8) -> Bool {
        byte < 0x80 && ASCII.isTarget(byte) && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "%")
    }
}
