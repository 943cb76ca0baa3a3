package import HTTPServer
import HTTPTypes
import Primitives
import StorageModel

extension Request {
    package var provider: String { parameters["provider"] ?? "" }

    /// Whether the client is a script rather than a browser navigation.
    package var prefersJSON: Bool {
        guard let accepted = headers[.accept] else { return false }
        return accepted.hasPrefix("application/json") || accepted.hasPrefix("application/problem+json")
    }

    /// RFC 9457. Another client may know no other errors than OAuth's.
    var acceptsProblemDetails: Bool { names("application/problem+json") }

    /// Whether `Accept` names a media type, and not with a weight of 0. A wildcard does not count.
    package func names(_ type: String) -> Bool {
        headers.count(of: .accept) > 0 && AcceptedTypes(headers.values(of: .accept)).weight(named: type) ?? 0 > 0
    }

    /// Whether the client is a browser that navigates: `Accept` weighs HTML more than JSON.
    package var prefersHTML: Bool {
        guard headers.count(of: .accept) > 0 else { return false }
        let accepted = AcceptedTypes(headers.values(of: .accept))
        return accepted.weight(of: "text/html") > accepted.weight(of: "application/json")
    }

    /// The token of `Authorization: Bearer …` (RFC 6750 section 2.1); tokens in queries and bodies are not read.
    /// - Throws: 401 for a missing or repeated field, another scheme, more than 4096 characters, characters not in
    ///   RFC 7235's token68, or a token that is bound to a key.
    package func bearerToken() throws(APIError) -> PresentedToken {
        guard let field = headers.bytes(of: .authorization) else {
            throw headers.count(of: .authorization) == 0 ? .sessionMissing : .sessionInvalid
        }
        guard let place = field.withUnsafeBufferPointer(Self.bearerToken) else { throw .sessionInvalid }
        let token = field[(field.startIndex + place.lowerBound)..<(field.startIndex + place.upperBound)]
        guard !SessionTokenFormat.isBound(token) else { throw .boundTokenInvalid }
        return PresentedToken(token)
    }

    /// The user name and password of `Authorization: Basic …` (RFC 7617 section 2); nil for any other field.
    package var basicCredentials: (name: ArraySlice<UInt8>, password: ArraySlice<UInt8>)? {
        guard let field = headers.bytes(of: .authorization),
            field.prefix(6).map(\.lowercasedASCII) == Array("basic ".utf8)
        else { return nil }
        let text = field.dropFirst(6).drop { $0 == UInt8(ascii: " ") }
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        guard text[digits.endIndex...].allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        let others = [UInt8(ascii: "+"): UInt8(ascii: "-"), UInt8(ascii: "/"): UInt8(ascii: "_")]
        guard let pair = Base64URL.decode(digits.map { others[$0] ?? $0 }),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (pair[..<colon], pair[(colon + 1)...])
    }

    private static func bearerToken(_ field: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        let scheme: StaticString = "bearer "
        let length = scheme.utf8CodeUnitCount
        let isBearer = scheme.withUTF8Buffer { expected in
            field.count > length
                && (0..<length).allSatisfy { field[$0].lowercasedASCII == expected[$0] }
        }
        guard isBearer else { return nil }
        let token = field[length...].drop { $0 == UInt8(ascii: " ") }
        guard (1...4096).contains(token.count), token.allSatisfy(isToken68) else { return nil }
        return token.startIndex..<token.endIndex
    }

    private static func isToken68(_ byte: UInt8) -> Bool {
        // A bit for each of the letters, the digits and - . _ ~ + / =
        let (low, high): (UInt64, UInt64) = (0x23FF_E800_0000_0000, 0x47FF_FFFE_87FF_FFFE)
        guard byte < 128 else { return false }
        return (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
    }
}

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
