/// A key: what it is called, what it means, and where its value goes.
struct Setting<Root: Sendable>: Sendable {
    let name: String
    /// What values it takes, with an article.
    let type: String
    let isSecret: Bool
    let meaning: String
    /// Whether the file's value is read also where the environment has one, because the two make one value.
    let isMerged: Bool
    let set: @Sendable (ConfigurationNode, inout Root, inout ReadingContext) -> Void
    /// The value as it could be written in the file; empty if there is none.
    let show: @Sendable (Root) -> String
    /// What SIGHUP takes over of it.
    var reload = ConfigurationKey.Reload.nothing

    init<Value>(
        _ name: String, _ type: ValueType<Value>, _ path: any (WritableKeyPath<Root, Value> & Sendable),
        isSecret: Bool = false, _ meaning: String
    ) {
        self.init(name, type.description, isSecret: isSecret, meaning) { node, root, context in
            if let value = type.read(node, &context) { root[keyPath: path] = value }
        } show: { root in
            type.show(root[keyPath: path])
        }
    }

    init(
        _ name: String, _ type: String, isSecret: Bool, isMerged: Bool = false, _ meaning: String,
        set: @escaping @Sendable (ConfigurationNode, inout Root, inout ReadingContext) -> Void,
        show: @escaping @Sendable (Root) -> String
    ) {
        self.name = name
        self.type = type
        self.isSecret = isSecret
        self.isMerged = isMerged
        self.meaning = meaning
        self.set = set
        self.show = show
    }

    /// As one of which SIGHUP takes something over.
    func reloaded(_ reload: ConfigurationKey.Reload) -> Setting {
        var copy = self
        copy.reload = reload
        return copy
    }

    /// The key under which the file may name a file that holds the secret.
    var fileName: String { name + Self.fileSuffix }

    static var fileSuffix: String { "_file" }

    /// Sets the value a node holds, or reports that it holds none.
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
