import HTTPCore
import HTTPTypes
import Primitives

/// The content codings that a client accepts (RFC 9110 section 12.5.3).
package struct AcceptEncoding {
    /// Weights from 0 to 1000; nil for a coding that is not named.
    private var gzip: Int?
    private var identity: Int?
    private var others: Int?

    /// A list has fewer elements: there are not as many codings.
    private static let mostElements = 64

    /// Reads the field's values as one list. A malformed list, or one of more than 64 elements, counts as none.
    package init(_ values: [String]) {
        let elements = values.flatMap {
            $0.utf8.split(
                separator: UInt8(ascii: ","), maxSplits: Self.mostElements, omittingEmptySubsequences: true)
        }
        guard elements.count <= Self.mostElements else { return }
        for element in elements where !element.allSatisfy(ASCII.isWhitespace) {
            guard let (coding, weight) = Self.element(element) else {
                self = AcceptEncoding([])
                return
            }
            switch coding {
            case "gzip", "x-gzip": gzip = weight
            case "identity": identity = weight
            case "*": others = weight
            default: break
            }
        }
    }

    init(_ request: Request) { self.init(request.headers.values(of: .acceptEncoding)) }

    /// Whether uncompressed content is accepted: unless the client excludes it.
    package var takesIdentity: Bool { (identity ?? others ?? 1000) > 0 }

    /// Whether gzip is accepted with at least the weight of identity. A named coding wins over one that is not named.
    package var choosesGzip: Bool { gzipWeight > 0 && (!takesIdentity || gzipWeight >= identity ?? 0) }

    private var gzipWeight: Int { gzip ?? others ?? 0 }

    private static func element(_ text: Substring.UTF8View) -> (coding: String, weight: Int)? {
        let parts = text.split(separator: UInt8(ascii: ";"), maxSplits: 1, omittingEmptySubsequences: false)
        let coding = parts[0].trimmed
        guard !coding.isEmpty, coding.allSatisfy(\.isToken) else { return nil }
        let name = String(decoding: coding.map(\.lowercasedASCII), as: UTF8.self)
        guard parts.count == 2 else { return (name, 1000) }
        guard let weight = QualityValue.read(parts[1]) else { return nil }
        return (name, weight)
    }
}

/// The weights of `Accept` and `Accept-Encoding` (RFC 9110 section 12.4.2), in thousandths.
package enum QualityValue {
    /// The weight of a parameter such as `q=0.5`, with blanks around it or not; nil if it is none, or malformed.
    package static func read(_ parameter: Substring.UTF8View) -> Int? {
        let bytes = Array(parameter.trimmed)
        guard bytes.count > 2, bytes[0].lowercasedASCII == UInt8(ascii: "q"), bytes[1] == UInt8(ascii: "=") else {
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
        guard point == UInt8(ascii: "."), rest.count <= 3, rest.allSatisfy(\.isASCIIDigit) else { return nil }
        var unit = 100
        for digit in rest {
            weight += Int(digit - UInt8(ascii: "0")) * unit
            unit /= 10
        }
        return weight <= 1000 ? weight : nil
    }
}
