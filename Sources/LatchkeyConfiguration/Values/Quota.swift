/// A limit on a rate: so many at once, and as many again in so many seconds.
public struct Quota: Sendable, Hashable {
    public var count: Int
    public var seconds: Int

    public init(count: Int, seconds: Int) {
        self.count = count
        self.seconds = seconds
    }
}

extension ValueType where Value == Quota? {
    /// `600/1m`; 0 stands for none.
    static var quota: ValueType<Quota?> {
        let description = "a number and a duration such as 600/1m, or 0 for no limit"
        return .scalar(description, show: { $0.map { "\($0.count)/\(NumberText.duration($0.seconds))" } ?? "0" }) {
            (text, _) throws(ValueRefusal) in
            if text == "0" { return .none }
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else { throw ValueRefusal("\(Printable.word(text) ?? "the value") is not a rate") }
            let units = NumberText.durationUnits + [("", 1)]
            return Quota(
                count: try NumberText.integer(parts[0], in: 1...1_000_000),
                seconds: try NumberText.quantity(parts[1], units: units, "duration", in: 1...86_400))
        }
    }
}
