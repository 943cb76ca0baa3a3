internal import Primitives
package import SignIn

/// A key: its name, its meaning, and where its value goes.
public struct Setting<Root: Sendable>: Sendable {
    package let name: String
    /// The name that configurations of earlier versions have; it is read with a warning.
    var formerName: String?
    /// The values it takes, with an article.
    let type: String
    /// The values of the file, for editors.
    let schema: ValueSchema
    let isSecret: Bool
    /// Whether the values of the file and of the environment make one value together.
    var isMerged = false
    fileprivate(set) var meaning: String
    let set: @Sendable (ConfigurationNode, inout Root, inout ReadingContext) -> Void
    /// The value as it would be written in the file; empty if there is none.
    fileprivate(set) var show: @Sendable (Root) -> String
    /// The setting that has taken the place of this one, which is then read with a warning; nil for a present one.
    var successor: String?
    var reload = ConfigurationKey.Reload.nothing
    /// The keys of its groups, if its values are a list of groups with keys of their own.
    private(set) var group: SettingGroup?
    /// What to do if it is missing; nil for a setting that may be left out.
    fileprivate(set) var demand: String?
    /// The kind of provider that must have it; nil for all that can.
    fileprivate(set) var demandingKind: ProviderKind?
    /// The kinds of provider that have it, and whose clients have it.
    fileprivate(set) var kinds = Set(ProviderKind.allCases)
}

extension Setting {
    /// - Parameters:
    ///   - name: The key, with its group: `greeting.name`.
    ///   - formerName: The key of earlier versions, which is read with a warning.
    ///   - isSecret: Whether the value is never shown, and may be in a file of its own.
    ///   - meaning: One or two sentences for the reference.
    public init<Value>(
        _ name: String, formerly formerName: String? = nil, _ type: ValueType<Value>,
        _ path: any (WritableKeyPath<Root, Value> & Sendable), isSecret: Bool = false, _ meaning: String
    ) {
        self.init(
            name: name, formerName: formerName, type: type.description, schema: type.schema, isSecret: isSecret,
            meaning: meaning
        ) { node, root, context in
            if let value = type.read(node, &context) { root[keyPath: path] = value }
        } show: { root in
            type.show(root[keyPath: path])
        }
        group = type.group?(name)
    }

    /// A list of groups, such as clients.
    /// - Parameter definition: The name of such a group in the schema.
    package init(
        _ name: String, _ type: String, of definition: String, isSecret: Bool = false, _ meaning: String,
        set: @escaping @Sendable (ConfigurationNode, inout Root, inout ReadingContext) -> Void,
        show: @escaping @Sendable (Root) -> String
    ) {
        self.init(
            name: name, type: type, schema: .list(of: .definition(definition)), isSecret: isSecret, meaning: meaning,
            set: set, show: show)
    }

    /// A setting that its group must have; one of a separate group, such as `telco_finder.issuer`, if anything of
    /// that group is given.
    package func required(_ demand: String = "give it", of kind: ProviderKind? = nil) -> Setting {
        altered(self) { ($0.demand, $0.demandingKind) = (demand, kind) }
    }

    /// A setting of some kinds of provider, which its meaning then names.
    package func of(_ kinds: ProviderKind...) -> Setting {
        altered(self) {
            $0.kinds = Set(kinds)
            $0.meaning += " For \($0.kindNames.joined(separator: " and ")) only."
        }
    }

    var kindNames: [String] { ProviderKind.allCases.filter(kinds.contains).map(\.rawValue) }

    /// A setting whose meaning says the default.
    package func withoutDefault() -> Setting { altered(self) { $0.show = { _ in "" } } }

    /// A setting of which a reload takes something over.
    func reloaded(_ reload: ConfigurationKey.Reload) -> Setting { altered(self) { $0.reload = reload } }

    /// A setting of earlier versions, of which several have become one.
    ///
    /// Unlike a former name it has its own value, because the values of several settings cannot be one value.
    func replaced(by successor: String) -> Setting { altered(self) { $0.successor = successor } }

    var names: [String] { [name] + (formerName.map { [$0] } ?? []) }

    /// Appended to the key of a secret in the file, where the value is the path of a file that holds the secret.
    static var fileSuffix: String { "_file" }

    /// Sets the value of a node, or reports that it has none.
    func apply(_ node: ConfigurationNode, to root: inout Root, _ context: inout ReadingContext) {
        context.beneath("." + name) { context in
            if case .empty = node.value {
                context.refuse(node.origin, "has no value", "give \(type), or remove the line")
            } else {
                set(node, &root, &context)
            }
        }
    }
}
