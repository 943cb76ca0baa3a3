/// A JSON object: members with distinct names, in the order of the text.
public struct JSONObject: Sendable, Hashable {
    /// A name with its value.
    public struct Member: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value.
        public let value: JSONValue
    }

    /// In the order of the text.
    public let members: [Member]

    init(_ members: [Member]) { self.members = members }

    /// The value of a member; nil if the object has no member of this name. A member that is `null` has the value
    /// `.null`.
    public subscript(_ name: String) -> JSONValue? {
        for member in members where member.name == name { return member.value }
        return nil
    }
}
