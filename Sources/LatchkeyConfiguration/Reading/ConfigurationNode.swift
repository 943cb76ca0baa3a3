/// A value of the file or the environment, before it is known what it should be.
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
    /// What the value is read from, when that is a file of its own: the key then ends in `_file`.
    var isFromSecretFile = false

    /// The kind of value, to say what stands where something else should.
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
    /// Where the name stands.
    var origin: ConfigurationOrigin
    var node: ConfigurationNode
}
