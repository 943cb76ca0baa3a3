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
