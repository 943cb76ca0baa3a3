/// A JSON object: members with distinct names, in the order of the text.
public struct JSONObject: Sendable, Hashable {
    /// A name with its value.
    public struct Member: Sendable, Hashable {
        public let name: String
        public let value: JSONValue
        let mark: Mark

        init(name: String, value: JSONValue) { self.init(name: name, value: value, Mark(name)) }

        init(name: String, value: JSONValue, _ mark: Mark) {
            self.name = name
            self.value = value
            self.mark = mark
        }

        /// Whether it has a name, by its bytes.
        func isNamed(_ other: String, _ otherMark: Mark) -> Bool {
            mark == otherMark && (mark.isWholeName || name.hasSameBytes(as: other))
        }
    }

    /// The length of a name with its first and last eight bytes, which are all of most names: a look-up compares
    /// numbers.
    struct Mark: Sendable, Hashable {
        private let first: UInt64
        private let last: UInt64
        private let length: Int

        init(_ name: String) {
            (first, last, length) = name.withBytes { bytes in
                guard let start = UnsafeRawPointer(bytes.baseAddress), bytes.count >= 8 else {
                    return (bytes.reduce(0) { $0 << 8 | UInt64($1) }, 0, bytes.count)
                }
                let last = start.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
                return (start.loadUnaligned(as: UInt64.self), last, bytes.count)
            }
        }

        /// Whether names of this mark are the same.
        var isWholeName: Bool { length <= 16 }
    }

    /// In the order of the text.
    public let members: [Member]

    init(_ members: [Member]) { self.members = members }

    /// Without those members of some names that are null.
    package func withoutNulls(named names: [String]) -> JSONObject {
        guard names.contains(where: { self[$0]?.isNull == true }) else { return self }
        return JSONObject(members.filter { !$0.value.isNull || !names.contains($0.name) })
    }

    /// The value of a member; nil if the object has no member of this name. A member that is `null` has the value
    /// `.null`.
    public subscript(_ name: String) -> JSONValue? {
        let mark = Mark(name)
        // In the buffer: a loop over the members, and a call of one's method, would copy each of them.
        return members.withUnsafeBufferPointer { members in
            for index in members.indices
            where members[index].mark == mark && (mark.isWholeName || members[index].name.hasSameBytes(as: name)) {
                return members[index].value
            }
            return nil
        }
    }
}
