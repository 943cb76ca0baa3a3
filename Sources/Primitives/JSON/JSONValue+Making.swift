extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral text: String) { self = .string(text) }
    /// An integer.
    public init(integerLiteral number: Int64) { self = .integer(number) }
    /// `true` or `false`.
    public init(booleanLiteral flag: Bool) { self = .bool(flag) }
    /// An array.
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
