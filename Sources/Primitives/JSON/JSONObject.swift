/// A JSON object: members with distinct names, in the order of the text.
public struct JSONObject: Sendable, Hashable {
    /// A name with its value.
    public struct Member: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value.
        public let value: JSONValue
        let mark: Mark

        init(name: String, value: JSONValue) { self.init(name: name, value: value, Mark(name)) }

        init(name: String, value: JSONValue, _ mark: Mark) {
            self.name = name
            self.value = value
            self.mark = mark
        }

        /// Whether it has a name, by its bytes.
        func isNamed(_ other: String, _ otherMark: Mark) -> Bool { mark == otherMark && name.hasSameBytes(as: other) }
    }

    /// The length and some bytes of a name. Names with different marks are different, so that most comparisons of a
    /// look-up are of one number.
    struct Mark: Sendable, Hashable {
        private let bits: UInt64

        init(_ name: String) {
            bits = name.withBytes { bytes in
                let length = UInt64(truncatingIfNeeded: bytes.count)
                guard let start = UnsafeRawPointer(bytes.baseAddress), bytes.count >= 4 else {
                    return bytes.reduce(length) { $0 << 8 | UInt64($1) }
                }
                let first = start.loadUnaligned(as: UInt32.self)
                let last = start.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)
                return (UInt64(first) << 32 | UInt64(last)) ^ length << 28
            }
        }
    }

    /// In the order of the text.
    public let members: [Member]

    init(_ members: [Member]) { self.members = members }

    /// The value of a member; nil if the object has no member of this name. A member that is `null` has the value
    /// `.null`.
    public subscript(_ name: String) -> JSONValue? {
        let mark = Mark(name)
        // By index: a loop over the members would copy each of them.
        for index in members.indices where members[index].isNamed(name, mark) {
            return members[index].value
        }
        return nil
    }
}
