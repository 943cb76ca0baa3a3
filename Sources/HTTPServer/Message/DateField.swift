package import Glibc

/// The `Date` field (RFC 9110 section 5.6.7), formatted once a second, with the other field that every response has:
/// `X-Content-Type-Options`, so that no browser takes JSON for a page or a script (Fetch standard section 3.6).
package struct DateField {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private var second: time_t = -1
    private var text: [UInt8] = []

    package init() {}

    /// The lines with CR LF.
    package mutating func lines(at now: time_t) -> [UInt8] {
        if now != second {
            second = now
            text = Array("Date: \(DateField.format(now))\r\nX-Content-Type-Options: nosniff\r\n".utf8)
        }
        return text
    }

    /// IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func format(_ moment: time_t) -> String {
        var moment = moment
        var parts = tm()
        guard gmtime_r(&moment, &parts) != nil else { return "Thu, 01 Jan 1970 00:00:00 GMT" }
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { twoDigits($0) }.joined(separator: ":")
        let date = "\(twoDigits(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(Int(parts.tm_year) + 1900)"
        return "\(days[Int(parts.tm_wday)]), \(date) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : String(number) }
}
