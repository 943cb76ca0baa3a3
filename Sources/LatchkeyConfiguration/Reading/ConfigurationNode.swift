/// A value of the file or the environment, before it is interpreted.
struct ConfigurationNode: Sendable {
    enum Value: Sendable {
        case text(String)
        /// Nothing, `~` or `null`, unquoted.
        case empty
        case list([ConfigurationNode])
        /// In the file's order; names are unique.
        case mapping([ConfigurationEntry])
    }

    var value: Value
    var origin: ConfigurationOrigin
    /// Whether the value was read from a separate file, because the key ends in `_file`.
    var isFromSecretFile = false

    /// The text; nil for another kind of value.
    var text: String? {
        guard case .text(let text) = value else { return nil }
        return text
    }

    /// The items of a list; nil for another kind of value.
    var items: [ConfigurationNode]? {
        guard case .list(let items) = value else { return nil }
        return items
    }

    /// The entries of a mapping; nil for another kind of value.
    var entries: [ConfigurationEntry]? {
        guard case .mapping(let entries) = value else { return nil }
        return entries
    }

    /// Whether it is a group of keys, all of which may be commented out.
    var isGroup: Bool {
        switch value {
        case .mapping, .empty: true
        case .text, .list: false
        }
    }

    /// Whether the value of a secret setting has a secret itself, rather than the names of files that have them: a
    /// text, such as `id:secret`, or a secret key of a client, API key, provider or operator.
    func holdsSecret(isSecret: Bool = true) -> Bool {
        switch value {
        case .text: isSecret && !isFromSecretFile
        case .empty: false
        case .list(let items): items.contains { $0.holdsSecret(isSecret: isSecret) }
        case .mapping(let entries):
            entries.contains { $0.node.holdsSecret(isSecret: Self.secretNames.contains($0.name)) }
        }
    }

    private static let secretNames = Set(SettingGroup.all.flatMap(\.secrets))

    /// The kind of value, for problems.
    var kind: String {
        switch value {
        case .text: "a single value"
        case .empty: "empty"
        case .list: "a list"
        case .mapping: "a group of keys"
        }
    }
}

/// A name and its value in a mapping.
struct ConfigurationEntry: Sendable {
    var name: String
    /// The place of the name.
    var origin: ConfigurationOrigin
    var node: ConfigurationNode
}
