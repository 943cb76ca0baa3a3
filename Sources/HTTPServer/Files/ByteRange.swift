import Primitives

/// A request for a single range of bytes (RFC 9110 section 14).
enum ByteRange {
    enum Outcome: Equatable {
        /// Malformed, of another unit, or several ranges: the field is ignored.
        case ignored
        case part(Range<Int>)
        /// Beyond the end.
        case unsatisfiable
    }

    static func read(_ field: String, of length: Int) -> Outcome {
        let prefix = "bytes="
        guard field.utf8.count > prefix.utf8.count,
            zip(field.utf8, prefix.utf8).allSatisfy({ $0.lowercasedASCII == $1 })
        else { return .ignored }
        let spec = field.utf8.dropFirst(prefix.utf8.count).trimmed
        guard let hyphen = spec.firstIndex(of: UInt8(ascii: "-")) else { return .ignored }
        let (first, last) = (spec[..<hyphen], spec[spec.index(after: hyphen)...])
        guard first.allSatisfy(\.isASCIIDigit), last.allSatisfy(\.isASCIIDigit) else { return .ignored }
        switch (number(first), number(last)) {
        case (nil, nil): return .ignored
        case (nil, let suffix?):
            return suffix > 0 && length > 0 ? .part(max(0, length - suffix)..<length) : .unsatisfiable
        case (let start?, nil): return start < length ? .part(start..<length) : .unsatisfiable
        case (let start?, let end?):
            guard start <= end else { return .ignored }
            return start < length ? .part(start..<min(end, length - 1) + 1) : .unsatisfiable
        }
    }

    /// A decimal number, saturating; nil if there are no digits.
    private static func number(_ digits: Substring.UTF8View) -> Int? {
        digits.isEmpty ? nil : Int(Substring(digits)) ?? .max
    }
}
