package import Primitives

/// The members of a JSON object in the order they are written. A fault may write one name twice.
package struct JSONMembers: Sendable, ExpressibleByDictionaryLiteral {
    package var members: [(name: String, value: JSONValue)]

    package init(members: [(name: String, value: JSONValue)] = []) { self.members = members }

    package init(dictionaryLiteral members: (String, JSONValue)...) {
        self.members = members.map { ($0.0, $0.1) }
    }

    package init(_ object: JSONObject) { members = object.members.map { ($0.name, $0.value) } }

    /// The first member of a name. Setting it replaces the member in its position or appends one; setting nil removes
    /// every member of the name.
    package subscript(name: String) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            guard let newValue else { return members.removeAll { $0.name == name } }
            if let index = members.firstIndex(where: { $0.name == name }) {
                members[index].value = newValue
            } else {
                members.append((name, newValue))
            }
        }
    }

    /// Adds a member even if one of its name exists.
    package mutating func append(_ name: String, _ value: JSONValue) { members.append((name, value)) }

    package var value: JSONValue { .object(of: members.map { ($0.name, $0.value) }) }

    package var serialized: [UInt8] { Array(value.text.utf8) }
}

extension JSONValue {
    static func string(_ text: String?) -> JSONValue? { text.map { .string($0) } }

    /// A NumericDate (RFC 7519 section 2).
    static func time(_ time: Timestamp) -> JSONValue { .integer(time.secondsSinceEpoch) }
}
