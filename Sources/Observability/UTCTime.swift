public import Primitives

/// Moments as RFC 3339 texts in UTC.
public enum UTCTime {
    /// Such as `2026-11-21T01:02:03Z`. Moments outside the years 0 to 9999 are held at the nearest.
    public static func text(_ moment: Timestamp) -> String {
        let seconds = min(max(moment.secondsSinceEpoch, -62_167_219_200), 253_402_300_799)
        let days = seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400
        let rest = seconds - days * 86400
        let (year, month, day) = date(daysSinceEpoch: days)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + "\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))Z"
    }

    /// The civil date of a day, in the proleptic Gregorian calendar: years are counted from March, so that the leap
    /// day is the last of its year, in eras of 400 years (146,097 days).
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

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}

extension UTCTime {
    /// The moment of a text such as `2026-11-21T01:02:03Z`, or of a day's beginning such as `2026-11-21`; nil for any
    /// other form, and for a day or an hour that there is not.
    public static func moment(_ text: String) -> Timestamp? {
        let day = text.prefix { $0 != "T" }
        guard let days = daysSinceEpoch(day) else { return nil }
        if day.endIndex == text.endIndex { return Timestamp(secondsSinceEpoch: days * 86400) }
        let time = text[day.endIndex...].dropFirst()
        guard time.last == "Z", let parts = numbers(time.dropLast(), separator: ":", widths: [2, 2, 2]),
            parts[0] < 24, parts[1] < 60, parts[2] < 60
        else { return nil }
        return Timestamp(secondsSinceEpoch: days * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2])
    }

    /// The inverse of ``date(daysSinceEpoch:)``; what does not come back as the same date is none.
    private static func daysSinceEpoch(_ text: Substring) -> Int64? {
        guard let parts = numbers(text, separator: "-", widths: [4, 2, 2]), (1...12).contains(parts[1]) else {
            return nil
        }
        let (month, day) = (parts[1], parts[2])
        let year = parts[0] - (month <= 2 ? 1 : 0)
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        let found = date(daysSinceEpoch: days)
        return found.year == parts[0] && found.month == month && found.day == day ? days : nil
    }

    /// Decimal numbers of these many digits each, or nil.
    private static func numbers(_ text: Substring, separator: Character, widths: [Int]) -> [Int64]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == widths.count else { return nil }
        var numbers: [Int64] = []
        for (part, width) in zip(parts, widths) {
            guard part.utf8.count == width, part.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(part)
            else { return nil }
            numbers.append(number)
        }
        return numbers
    }
}
