/// Times as RFC 3339 texts in UTC.
public enum UTCTime {
    /// A text such as `2026-11-21T01:02:03Z`. Times outside the years 0 to 9999 become the nearest one inside.
    public static func text(_ moment: Timestamp) -> String {
        let (days, clock) = daysAndClock(moment.secondsSinceEpoch)
        let (year, month, day) = date(daysSinceEpoch: days)
        return "\(year.digits(4))-\(month.digits(2))-\(day.digits(2))T\(clock)Z"
    }

    /// The IMF-fixdate of HTTP (RFC 9110 section 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`; like ``text(_:)``
    /// outside the years 0 to 9999.
    package static func httpText(_ secondsSinceEpoch: Int) -> String {
        let (days, clock) = daysAndClock(Int64(secondsSinceEpoch))
        let (year, month, day) = date(daysSinceEpoch: days)
        // Counted from a Sunday before the year 0.
        let weekday = weekdayNames[Int((days + 719_534) % 7)]
        return "\(weekday), \(day.digits(2)) \(monthNames[Int(month) - 1]) \(year.digits(4)) \(clock) GMT"
    }

    private static let weekdayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The day, and the time in it as `01:02:03`.
    private static func daysAndClock(_ secondsSinceEpoch: Int64) -> (days: Int64, clock: String) {
        let seconds = min(max(secondsSinceEpoch, -62_167_219_200), 253_402_300_799)
        let days = seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400
        let rest = seconds - days * 86400
        return (days, "\((rest / 3600).digits(2)):\((rest / 60 % 60).digits(2)):\((rest % 60).digits(2))")
    }

    /// The date of a day in the proleptic Gregorian calendar. Years are counted from March, so that the leap day is the
    /// last day of its year, in eras of 400 years (146,097 days).
    private static func date(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSinceEpoch + 719_468  // Days since 0000-03-01.
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

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

extension UTCTime {
    /// The form of a time.
    public enum Form: Sendable {
        /// RFC 3339, in UTC and without fractions.
        case rfc3339
        /// A day of RFC 3339: the time when it begins.
        case day
        /// The IMF-fixdate of HTTP (RFC 9110 section 5.6.7).
        case http
    }

    /// The time of a text such as `2026-11-21T01:02:03Z`, or the beginning of a day such as `2026-11-21`. Nil for any
    /// other form, and for a day or time that does not exist.
    public static func moment(_ text: String) -> Timestamp? {
        moment(text, in: .rfc3339) ?? moment(text, in: .day)
    }

    /// The time of a text in a form. Nil if the text has another form, or the day or time does not exist: then the time
    /// that its numbers make is written in another way.
    public static func moment(_ text: String, in form: Form) -> Timestamp? {
        guard text.utf8.count <= 29 else { return nil }
        // A leap second is the last of a day (RFC 3339 section 5.7, RFC 9110 section 5.6.7). The count of seconds has
        // none: it is the first of the next day.
        let isLeapSecond = text.contains("23:59:60")
        let text = isLeapSecond ? text.replacing("23:59:60", with: "23:59:59") : text
        guard let moment = momentOfNumbers(in: text, form) else { return nil }
        let isWritten =
            switch form {
            case .rfc3339: Self.text(moment).hasSameBytes(as: text)
            case .day: String(Self.text(moment).prefix(10)).hasSameBytes(as: text)
            // The day of the week follows from the date.
            case .http:
                text.utf8.prefix(3).allSatisfy(\.isASCIILetter)
                    && httpText(Int(moment.secondsSinceEpoch)).utf8.dropFirst(3).elementsEqual(text.utf8.dropFirst(3))
            }
        return isWritten ? moment.advanced(bySeconds: isLeapSecond ? 1 : 0) : nil
    }

    private static func momentOfNumbers(in text: String, _ form: Form) -> Timestamp? {
        var numbers = text.utf8.split { !$0.isASCIIDigit }.compactMap { Int64(Substring($0)) }
        switch form {
        case .rfc3339: break
        case .day: numbers += [0, 0, 0]
        case .http:
            guard let month = monthNames.firstIndex(where: { text.contains(" \($0) ") }), numbers.count == 5 else {
                return nil
            }
            numbers = [numbers[1], Int64(month) + 1, numbers[0]] + numbers[2...]
        }
        guard numbers.count == 6, numbers.allSatisfy({ $0 <= 9999 }) else { return nil }
        let days = daysSinceEpoch(year: numbers[0], month: numbers[1], day: numbers[2])
        return Timestamp(
            secondsSinceEpoch: days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5])
    }

    /// The inverse of ``date(daysSinceEpoch:)``, for years from 0 on.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        // January and February of year 0 belong to year -1 counted from March. One era more keeps all numbers positive.
        let years = (month <= 2 ? year - 1 : year) + 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * years + years / 4 - years / 100 + years / 400 + dayOfYear - 146_097 - 719_468
    }
}
