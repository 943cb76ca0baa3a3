internal import SignIn

/// A key: its name, its meaning, and where its value goes.
struct Setting<Root: Sendable>: Sendable {
    let name: String
    /// The name that configurations of earlier versions have; it is read with a warning.
    let formerName: String?
    /// The values it takes, with an article.
    let type: String
    /// The values of the file, for editors.
    let schema: ValueSchema
    let isSecret: Bool
    let meaning: String
    /// Whether the values of the file and of the environment make one value together.
    let isMerged: Bool
    let set: @Sendable (ConfigurationNode, inout Root, inout ReadingContext) -> Void
    /// The value as it would be written in the file; empty if there is none.
    private(set) var show: @Sendable (Root) -> String
    /// The setting that has taken the place of this one, which is then read with a warning; nil for a present one.
    private(set) var successor: String?
    /// What a reload takes over.
    private(set) var reload = ConfigurationKey.Reload.nothing
    /// What to do if it is missing; nil for a setting that may be left out.
    private(set) var demand: String?
    /// The kinds of provider that have it, and whose clients have it.
    private(set) var kinds = Set(ProviderKind.allCases)

    init<Value>(
        _ name: String, formerly formerName: String? = nil, _ type: ValueType<Value>,
        _ path: any (WritableKeyPath<Root, Value> & Sendable), isSecret: Bool = false, _ meaning: String
    ) {
        self.init(
            name, formerly: formerName, type.description, schema: type.schema, isSecret: isSecret, meaning
        ) { node, root, context in
            if let value = type.read(node, &context) { root[keyPath: path] = value }
        } show: { root in
            type.show(root[keyPath: path])
        }
    }

    init(
        _ name: String, formerly formerName: String? = nil, _ type: String, schema: ValueSchema, isSecret: Bool,
        isMerged: Bool = false,
        _ meaning: String, set: @escaping @Sendable (ConfigurationNode, inout Root, inout ReadingContext) -> Void,
        show: @escaping @Sendable (Root) -> String
    ) {
        self.name = name
        self.formerName = formerName
        self.type = type
        self.schema = schema
        self.isSecret = isSecret
        self.isMerged = isMerged
        self.meaning = meaning
        self.set = set
        self.show = show
    }

    /// A setting that its group must have; one of a group of its own, such as `telco_finder.issuer`, if anything of
    /// that group is given.
    func required(_ demand: String = "give it") -> Setting {
        var copy = self
        copy.demand = demand
        return copy
    }

    /// A setting of some kinds of provider.
    func of(_ kinds: ProviderKind...) -> Setting {
        var copy = self
        copy.kinds = Set(kinds)
        return copy
    }

    /// A setting whose meaning says the default.
    func withoutDefault() -> Setting {
        var copy = self
        copy.show = { _ in "" }
        return copy
    }

    /// A setting of which a reload takes something over.
    func reloaded(_ reload: ConfigurationKey.Reload) -> Setting {
        var copy = self
        copy.reload = reload
        return copy
    }

    /// A setting of earlier versions, of which several have become one.
    ///
    /// Unlike a former name it has a value of its own, because the values of several settings cannot be one value.
    func replaced(by successor: String) -> Setting {
        var copy = self
        copy.successor = successor
        return copy
    }

    /// The name and the former name.
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
