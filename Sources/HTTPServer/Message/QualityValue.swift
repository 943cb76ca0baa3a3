import HTTPCore

/// The weights of `Accept` and `Accept-Encoding` (RFC 9110 section 12.4.2), in thousandths.
package enum QualityValue {
    /// The weight of a parameter such as `q=0.5`, with blanks around it or not; nil if it is none, or malformed.
    package static func read(_ parameter: Substring.UTF8View) -> Int? {
        let bytes = Array(FieldLine.trimmed(parameter))
        guard bytes.count > 2, ASCII.lowercased(bytes[0]) == UInt8(ascii: "q"), bytes[1] == UInt8(ascii: "=") else {
            return nil
        }
        return weight(bytes[2...])
    }

    /// `0` or `1`, with up to three decimals.
    private static func weight(_ digits: ArraySlice<UInt8>) -> Int? {
        var rest = digits
        guard let first = rest.popFirst(), first == UInt8(ascii: "0") || first == UInt8(ascii: "1") else { return nil }
        var weight = Int(first - UInt8(ascii: "0")) * 1000
        guard let point = rest.popFirst() else { return weight }
        guard point == UInt8(ascii: "."), rest.count <= 3, rest.allSatisfy(ASCII.isDigit) else { return nil }
        var unit = 100
        for digit in rest {
            weight += Int(digit - UInt8(ascii: "0")) * unit
            unit /= 10
        }
        return weight <= 1000 ? weight : nil
    }
}
