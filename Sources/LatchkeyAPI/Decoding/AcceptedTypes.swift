import HTTPServer
import Primitives

/// The media types that a client accepts (RFC 9110 section 12.5.1).
struct AcceptedTypes {
    /// In lower case, without parameters; weights from 0 to 1000.
    private let ranges: [(type: String, weight: Int)]
    /// So many elements of a list are read, and parameters of each. Browsers send a tenth.
    private static let most = 64

    /// Reads the field's values as one list. An element that is not ASCII is left out; a malformed weight counts as 1.
    init(_ values: [String]) {
        let elements = values.prefix(Self.most).flatMap { $0.split(ascii: ",", maxSplits: Self.most).prefix(Self.most) }
        ranges = elements.prefix(Self.most).compactMap { element in
            guard let type = MediaTypeText.essence(of: String(element)) else { return nil }
            let parameters = element.split(ascii: ";", maxSplits: Self.most).prefix(Self.most).dropFirst()
            return (type, parameters.lazy.compactMap { QualityValue.read($0.utf8) }.first ?? 1000)
        }
    }

    /// The weight of a type that is named; nil if it is accepted by a wildcard only, or not at all.
    func weight(named type: String) -> Int? { ranges.first { $0.type == type }?.weight }

    /// The weight of a type by the most specific range.
    func weight(of type: String) -> Int {
        if let named = weight(named: type) { return named }
        let family = type.prefix { $0 != "/" } + "/*"
        return weight(named: String(family)) ?? weight(named: "*/*") ?? 0
    }
}
