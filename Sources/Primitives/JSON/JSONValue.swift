/// A JSON value (RFC 8259), parsed strictly.
///
/// ```swift
/// guard let claims = try JSONValue(parsing: bytes).object, let subject = claims["sub"]?.string else { … }
/// ```
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits.
    case integer(Int64)
    /// Any other number; always finite.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Reads one JSON text, which must fill `bytes`.
    ///
    /// The text is UTF-8 without a byte order mark. Besides what RFC 8259 does not allow, these are refused: duplicate
    /// names in an object, lone surrogates, more than 30 combining marks on one character, numbers beyond `Double`, and
    /// what exceeds the limits. Takes time linear in the length of the input.
    ///
    /// - Throws: ``JSONSyntaxError`` with the offset of the first fault.
    public init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        self = try bytes.withUnsafeBufferPointer { buffer throws(JSONSyntaxError) in
            try JSONValue(parsing: buffer, limits: limits)
        }
    }

    /// As ``init(parsing:limits:)-([UInt8],_)``, for bytes in a larger buffer.
    public init(parsing bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        guard bytes.count <= limits.bytes else { throw JSONSyntaxError(code: .tooLarge, offset: limits.bytes) }
        var parser = JSONParser(bytes: bytes, limits: limits)
        self = try parser.parseText()
    }
}

extension JSONValue {
    /// Whether the value is `null`.
    public var isNull: Bool { self == .null }

    /// The text; nil for another kind of value.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The boolean; nil for another kind of value.
    public var bool: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    /// The elements; nil for another kind of value.
    public var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The object; nil for another kind of value.
    public var object: JSONObject? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The number if it is a whole one, however it was written (`1600000000`, `1.6e9`), and exactly known: within
    /// ±2⁵³ when it was written with a fraction or an exponent.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value) where value.magnitude <= 0x1p53: Int64(exactly: value)
        default: nil
        }
    }

    /// Any number, rounded to `Double`.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral text: String) { self = .string(text) }
    public init(integerLiteral number: Int64) { self = .integer(number) }
    /// `true` or `false`.
    public init(booleanLiteral flag: Bool) { self = .bool(flag) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object. No name may occur twice.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(of: members.map { ($0.0, $0.1) })
    }
}

extension JSONValue {
    /// An object of the members that have a value, in their order. The names must be distinct.
    package static func object(of members: [(name: String, value: JSONValue?)]) -> JSONValue {
        .object(
            JSONObject(
                members.compactMap { member in
                    member.value.map { JSONObject.Member(name: member.name, value: $0) }
                }))
    }

    package static func texts(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
}
