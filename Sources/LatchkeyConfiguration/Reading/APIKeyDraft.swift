internal import OpenIDConnect

/// An item of `api_keys` that is a group of keys, as far as it is known.
struct APIKeyDraft: Sendable {
    var proof: APIKey.Proof?
    var name: String?
    var clients: [ClientID] = []
    var origins: [Origin] = []
    var isOperator = false

    static let settings: [Setting<APIKeyDraft>] = [
        Setting("name", .optional(.apiKeyName), \.name, "What the key is called where it is told of."),
        Setting(
            "key", .optional(.apiKeyProof), \.proof, isSecret: true,
            "The key as it is, or sha256: and its hash."),
        Setting(
            "clients", .list(of: .clientID, "a list of client ids"), \.clients,
            "The clients whose users and sessions the key is good for; with none, for all."),
        Setting(
            "origins", .list(of: .origin, "a list of origins"), \.origins,
            "Origins that a request with the key must come from; with none, it may come from anywhere."),
        Setting(
            "operator", .flag(), \.isOperator, "Whether the key also opens the operator's status page, /status."),
    ]

    /// Reads an item; nil after reporting what is wrong with it. No name that stands in it is repeated: it may be a key in
    /// the wrong place.
    static func read(_ node: ConfigurationNode, _ context: inout ReadingContext) -> APIKey? {
        guard case .mapping(let entries) = node.value else {
            return ValueType<APIKey.Proof>.apiKeyProof.read(node, &context).map { APIKey($0) }
        }
        let before = context.problems.count
        let known = Set(settings.flatMap { $0.isSecret ? [$0.name, $0.fileName] : [$0.name] })
        for entry in entries where !known.contains(entry.name) {
            context.refuse(
                entry.origin, "has something else in it", "give key, and name, clients, origins and operator")
        }
        var reader = SettingsReader(settings)
        reader.collect(entries.filter { known.contains($0.name) }, &context)
        var draft = APIKeyDraft()
        for setting in settings {
            if let node = reader.values[setting.name] { setting.apply(node, to: &draft, &context) }
        }
        guard let proof = draft.proof else {
            if context.problems.count == before { context.refuse(node.origin, "has no key", "give key or key_file") }
            return nil
        }
        guard context.problems.count == before else { return nil }
        var key = APIKey(proof)
        key.name = draft.name
        key.clients = draft.clients
        key.origins = draft.origins
        key.isOperator = draft.isOperator
        return key
    }
}
