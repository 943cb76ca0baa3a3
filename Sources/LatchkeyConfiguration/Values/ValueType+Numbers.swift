internal import LatchkeyAPI

extension ValueType {
    public static func integer(_ range: ClosedRange<Int>) -> ValueType<Int> {
        .scalar(
            "a whole number from \(range.lowerBound) to \(range.upperBound)", schema: .integer(range),
            show: { String($0) }
        ) {
            (text, _) throws(InvalidValueError) in try NumberText.integer(text, in: range)
        }
    }

    /// Bytes: `65536`, `64KiB`, `1MiB`.
    static func size(_ range: ClosedRange<Int>) -> ValueType<Int> {
        let description = "a size from \(NumberText.size(range.lowerBound)) to \(NumberText.size(range.upperBound))"
        return .scalar(description, schema: .number(range, pattern: "^[0-9]+(B|KiB|MiB)?$"), show: NumberText.size) {
            (text, _) throws(InvalidValueError) in try NumberText.size(text, in: range)
        }
    }

    /// `auto`, or a number; 0 stands for no limit.
    static func connectionShare(_ range: ClosedRange<Int>) -> ValueType<Configuration.HTTP.ConnectionShare> {
        .scalar(
            "auto, a whole number up to \(range.upperBound), or 0 for no limit",
            schema: .number(0...range.upperBound, pattern: "^(auto|[0-9]+)$"), show: text
        ) {
            (text, _) throws(InvalidValueError) in
            if text == "auto" { return .automatic }
            let number = try NumberText.integer(text, in: 0...range.upperBound)
            return number == 0 ? .unlimited : .atMost(number)
        }
    }

    private static func text(_ share: Configuration.HTTP.ConnectionShare) -> String {
        switch share {
        case .automatic: "auto"
        case .unlimited: "0"
        case .atMost(let count): String(count)
        }
    }

    static var port: ValueType<UInt16> {
        ValueType<Int>.integer(0...65535).mapped({ UInt16(clamping: $0) }, back: { Int($0) })
    }

    /// Seconds: `30`, `30s`, `10m`, `1h`, `14d`.
    public static func seconds(_ range: ClosedRange<Int>) -> ValueType<Int64> {
        let bounds = "from \(NumberText.duration(range.lowerBound)) to \(NumberText.duration(range.upperBound))"
        return .scalar(
            "a duration \(bounds)", schema: .number(range, pattern: "^[0-9]+(d|h|m|s)?$"),
            show: { NumberText.duration(Int($0)) }
        ) {
            (text, _) throws(InvalidValueError) in Int64(try NumberText.seconds(text, in: range))
        }
    }

    /// As ``ValueType/seconds(_:)``; the range is in seconds.
    public static func duration(_ range: ClosedRange<Int>) -> ValueType<Duration> {
        ValueType<Int64>.seconds(range).mapped({ .seconds($0) }, back: { $0.components.seconds })
    }

    /// `600/1m`; 0 stands for no limit.
    static var quota: ValueType<RequestLimits.Quota?> {
        let description = "a number and a duration such as 600/1m, or 0 for no limit"
        return .scalar(
            description, schema: .number(0...0, pattern: "^(0|[0-9]+/[0-9]+(d|h|m|s)?)$"),
            show: { $0.map { "\($0.count)/\(NumberText.duration($0.seconds))" } ?? "0" }
        ) {
            (text, _) throws(InvalidValueError) in
            if text == "0" { return .none }
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            try require(
                parts.count == 2, else: "\(Printable.word(text) ?? "the value") is not a rate")
            return RequestLimits.Quota(
                count: try NumberText.integer(parts[0], in: 1...1_000_000),
                seconds: try NumberText.seconds(parts[1], in: 1...86_400))
        }
    }

    /// A part of all, from 0 to 1.
    public static var ratio: ValueType<Double> {
        .scalar(
            "a number from 0 to 1", schema: .ratio,
            show: decimal
        ) { (text, _) throws(InvalidValueError) in
            let isNumber = (1...8).contains(text.utf8.count) && text.consists(of: "0123456789.")
            guard isNumber, let number = Double(text), (0...1).contains(number) else {
                throw InvalidValueError(
                    "is not a number from 0 to 1", "give one with at most six decimals, such as 0.05")
            }
            return number
        }
    }

    /// Without an exponent.
    private static func decimal(_ number: Double) -> String {
        let millionths = Int((number * 1_000_000).rounded())
        guard millionths < 1_000_000 else { return "1" }
        let digits = String(1_000_000 + millionths).dropFirst()
        let decimals = String(digits.reversed().drop { $0 == "0" }.reversed())
        return decimals.isEmpty ? "0" : "0." + decimals
    }
}

/// Numbers, sizes and durations as they are written.
enum NumberText {
    private static let durations = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1), ("", 1)]
    private static let sizes = [("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1), ("B", 1)]

    static func seconds(_ text: String, in range: ClosedRange<Int>) throws(InvalidValueError) -> Int {
        try quantity(text, units: durations, "duration", in: range)
    }

    static func size(_ text: String, in range: ClosedRange<Int>) throws(InvalidValueError) -> Int {
        try quantity(text, units: sizes, "size", in: range)
    }

    static func integer(_ text: String, in range: ClosedRange<Int>) throws(InvalidValueError) -> Int {
        try quantity(text, units: [("", 1)], "whole number", in: range)
    }

    /// A number and its unit, in the smallest unit.
    private static func quantity(
        _ text: String, units: [(name: String, factor: Int)], _ noun: String, in range: ClosedRange<Int>
    ) throws(InvalidValueError) -> Int {
        let shown = Printable.word(text) ?? "the value"
        let isNegative = text.hasPrefix("-")
        let digits = text.dropFirst(isNegative ? 1 : 0).prefix { $0.isASCII && $0.isNumber }
        let suffix = text.dropFirst(digits.count + (isNegative ? 1 : 0))
        guard !digits.isEmpty, let unit = units.first(where: { $0.name == suffix }) else {
            throw InvalidValueError("\(shown) is not a \(noun)")
        }
        guard !isNegative, let number = Int(digits) else { throw InvalidValueError("\(shown) is out of range") }
        let (value, overflow) = number.multipliedReportingOverflow(by: unit.factor)
        guard !overflow, range.contains(value) else { throw InvalidValueError("\(shown) is out of range") }
        return value
    }

    static func duration(_ seconds: Int) -> String { text(seconds, durations) }

    static func size(_ bytes: Int) -> String { text(bytes, sizes) }

    /// In the largest unit that divides it.
    private static func text(_ number: Int, _ units: [(String, Int)]) -> String {
        let unit = units.first { $0.1 == 1 || number >= $0.1 && number.isMultiple(of: $0.1) } ?? ("", 1)
        return "\(number / unit.1)\(unit.0)"
    }
}
