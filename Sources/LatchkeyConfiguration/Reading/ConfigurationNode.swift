internal import Primitives

/// A value of the file or the environment, before it is interpreted.
package struct ConfigurationNode: Sendable {
    package enum Value: Sendable {
        case text(String)
        /// Nothing, `~` or `null`, unquoted.
        case empty
        case list([ConfigurationNode])
        /// In the file's order; names are unique.
        case mapping([ConfigurationEntry])
    }

    package var value: Value
    package var origin: ConfigurationOrigin
    /// The path of the separate file that the value was read from, because the key ends in `_file`; nil for others.
    var secretFile: String?

    var text: String? {
        guard case .text(let text) = value else { return nil }
        return text
    }

    var items: [ConfigurationNode]? {
        guard case .list(let items) = value else { return nil }
        return items
    }

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
    /// text, such as `id:secret`, or a secret key of a client, API key, provider or operator, whose value may be a
    /// group of texts (`headers`).
    /// - Parameter names: The names of secret keys.
    func holdsSecret(_ names: Set<String>, isSecret: Bool = true) -> Bool {
        switch value {
        case .text: isSecret && secretFile == nil
        case .empty: false
        case .list(let items): items.contains { $0.holdsSecret(names, isSecret: isSecret) }
        case .mapping(let entries):
            entries.contains { entry in
                let isSecret = names.contains(entry.name)
                return entry.node.holdsSecret(names, isSecret: isSecret)
                    || isSecret && entry.node.entries?.contains { $0.node.holdsSecret([]) } == true
            }
        }
    }

    /// What is wrong with white space at an end of a text, which readers of the text do not see; nil if there is none.
    /// In the configuration file it is in quotes, and texts of several lines and JSON may have it.
    var unseenFault: String? {
        guard case .text(let text) = value else { return nil }
        let inner = Substring(text).utf8.trimmed(of: " \t\r\n".utf8.contains)
        guard inner.count < text.utf8.count, inner.first != UInt8(ascii: "{"), !inner.contains(UInt8(ascii: "\n"))
        else { return nil }
        let end = "begins or ends with a space, a tab or a line break"
        if let secretFile { return "the file \(Printable.line(secretFile)) \(end)" }
        guard case .environment = origin else { return nil }
        return end
    }

    /// The kind of value, for problems.
    package var kind: String {
        switch value {
        case .text: "a single value"
        case .empty: "empty"
        case .list: "a list"
        case .mapping: "a group of keys"
        }
    }
}

package struct ConfigurationEntry: Sendable {
    package var name: String
    package var origin: ConfigurationOrigin
    package var node: ConfigurationNode
}
