import TestSupport

/// The members of an object. Their values are JSON texts, so that a test can write anything.
struct JSONDraft: Sendable, ExpressibleByArrayLiteral {
    private(set) var members: [(name: String, json: String)]

    init(arrayLiteral elements: (String, String)...) {
        members = elements.map { (name: $0.0, json: $0.1) }
    }

    /// A member's JSON text; nil removes it.
    subscript(_ name: String) -> String? {
        get { members.first { $0.name == name }?.json }
        set {
            guard let newValue else { return members.removeAll { $0.name == name } }
            if let index = members.firstIndex(where: { $0.name == name }) {
                members[index].json = newValue
            } else {
                add(name, newValue)
            }
        }
    }

    /// Adds a member even if there is one of that name.
    mutating func add(_ name: String, _ json: String) {
        members.append((name: name, json: json))
    }

    func with(_ name: String, _ json: String?) -> JSONDraft {
        var copy = self
        copy[name] = json
        return copy
    }

    var text: String { TokenText.object(members) }
}
