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
