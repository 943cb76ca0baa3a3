package import Glibc
import Primitives

/// The `Date` field (RFC 9110 section 5.6.7), formatted once a second, with the other field that every response has:
/// `X-Content-Type-Options`, so that no browser takes JSON for a page or a script (Fetch standard section 3.6).
package struct DateField {
    private var second: time_t = -1
    private var text: [UInt8] = []

    /// The lines with CR LF.
    package mutating func lines(at now: time_t) -> [UInt8] {
        if now != second {
            second = now
            text = Array("Date: \(UTCTime.httpText(now))\r\nX-Content-Type-Options: nosniff\r\n".utf8)
        }
        return text
    }
}
