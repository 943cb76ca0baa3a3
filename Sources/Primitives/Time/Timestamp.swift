/// A time in whole seconds since 1970-01-01T00:00:00Z: the NumericDate of RFC 7519 section 2.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// May be negative.
    public let secondsSinceEpoch: Int64

    /// The time so many seconds after 1970-01-01T00:00:00Z.
    public init(secondsSinceEpoch: Int64) { self.secondsSinceEpoch = secondsSinceEpoch }

    /// Whether the left time is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }

    /// The time some seconds later, or earlier if negative. Stops at the ends of the range instead of overflowing.
    public func advanced(bySeconds seconds: Int64) -> Timestamp {
        let (sum, overflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
        guard overflow else { return Timestamp(secondsSinceEpoch: sum) }
        return Timestamp(secondsSinceEpoch: seconds < 0 ? .min : .max)
    }

    /// How many seconds later this time is than another one; negative if it is earlier. Stops at the ends of the range
    /// instead of overflowing, because a stored time may be any number.
    public func seconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = secondsSinceEpoch.subtractingReportingOverflow(earlier.secondsSinceEpoch)
        guard overflow else { return difference }
        return earlier.secondsSinceEpoch < 0 ? .max : .min
    }
}
