/// The members of a JSON object in the order they are written. A name may stand twice where a fault wants it to.
package struct JSONMembers: Sendable, ExpressibleByDictionaryLiteral {
    package var members: [(name: String, value: JSON)]

    package init(members: [(name: String, value: JSON)] = []) {
        self.members = members
    }

    package init(dictionaryLiteral members: (String, JSON)...) {
        self.members = members.map { ($0.0, $0.1) }
    }

    /// The first member of a name. Setting replaces it where it stands, or adds it; setting nil removes every one.
    package subscript(name: String) -> JSON? {
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

    /// Adds a member even where one of its name stands already.
    package mutating func append(_ name: String, _ value: JSON) { members.append((name, value)) }

    package var serialized: [UInt8] { JSON.object(self).serialized }
}
