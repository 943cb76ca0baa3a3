/// The members of a JSON object, in the order of the text. No name comes twice.
public struct JSONObject: Sendable, Hashable {
    public struct Member: Sendable, Hashable {
        public let name: String
        public let value: JSONValue
    }

    public let members: [Member]

    init(_ members: [Member]) {
        self.members = members
    }

    /// The value of a member, or nil if there is none of this name. (A member that is `null` has a value: `.null`.)
    public subscript(_ name: String) -> JSONValue? {
        for member in members where member.name == name { return member.value }
        return nil
    }
}
