package import Primitives

/// What the receiver did with an export, by the rules of OpenTelemetry's protocol over HTTP.
package enum ReceiverResponse: Sendable, Hashable {
    /// Taken, without so many spans or data points of it (`partialSuccess`).
    case accepted(rejected: Int)
    /// Not taken, and to be sent again, after a time if the receiver names one.
    case unavailable(retryAfter: Duration?, reason: String)
    /// Not taken, and not to be sent again.
    case refused(reason: String)

    /// The longest time that a receiver may ask for.
    static let longestRetry = Duration.seconds(300)

    /// - Parameter retryAfter: The `Retry-After` field: seconds or a date (RFC 9110 section 10.2.3).
    package init(status: Int, retryAfter: String?, body: [UInt8], now: Timestamp) {
        switch status {
        case 200..<300: self = .accepted(rejected: Self.rejected(in: body))
        case 429, 502, 503, 504:
            self = .unavailable(
                retryAfter: retryAfter.flatMap { RetryDelay.requested(by: $0, at: now) }
                    .map { min($0, Self.longestRetry) }, reason: "the receiver answered \(status)")
        default: self = .refused(reason: "the receiver answered \(status)")
        }
    }

    /// The number of spans or data points that a successful response says were rejected. A body that is no such
    /// response rejects none.
    private static func rejected(in body: [UInt8]) -> Int {
        guard let response = try? JSONValue(parsing: body).object, let partial = response["partialSuccess"]?.object
        else { return 0 }
        for name in ["rejectedSpans", "rejectedDataPoints"] {
            // An integer of 64 bits is a string in the JSON mapping; some receivers write a number.
            switch partial[name] {
            case .string(let text): return max(0, Int(text) ?? 0)
            case .integer(let number): return max(0, Int(number))
            default: continue
            }
        }
        return 0
    }
}
