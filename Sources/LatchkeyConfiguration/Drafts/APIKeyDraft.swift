internal import Primitives

/// An item of `api_keys` that is a group of keys, while it is read.
struct APIKeyDraft: GroupDraft {
    var proof: APIKey.Proof?
    /// With another proof, until it is read.
    var key = APIKey(.plain(Secret("")))
    var place = GroupPlace()

    static let settings: [Setting<APIKeyDraft>] = [
        Setting("name", .optional(.apiKeyName), \.key.name, "The key's name in logs and the audit log."),
        Setting(
            "key", .optional(.apiKeyProof), \.proof, isSecret: true, "The key in plain text, or sha256: and its hash."
        ).required("give key or key_file"),
        Setting(
            "clients", .list(of: .clientID, "a list of client ids"), \.key.clients,
            "The clients whose users and sessions the key gives access to; by default all."),
        Setting(
            "origins", .list(of: .origin, "a list of origins"), \.key.origins,
            "The origins that requests with the key must come from; by default any."),
        Setting(
            "operator", .flag(), \.key.isAdministrator,
            "Whether the key also gives access to the administrator's status page, /status."),
    ]

    /// Reads an item; nil after reporting what is wrong. An unknown key in it is not repeated: it may be an API key in
    /// the wrong place.
    static func read(_ node: ConfigurationNode, _ context: inout ReadingContext) -> APIKey? {
        guard case .mapping(let entries) = node.value else {
            return ValueType<APIKey.Proof>.apiKeyProof.read(node, &context).map { APIKey($0) }
        }
        let known = Set(settings.flatMap { $0.isSecret ? [$0.name, $0.name + Setting<Self>.fileSuffix] : [$0.name] })
        for entry in entries where !known.contains(entry.name) {
            context.refuse(entry.origin, "has an unknown key", "give key, and name, clients, origins and operator")
        }
        let hasUnknown = entries.contains { !known.contains($0.name) }
        var draft = APIKeyDraft()
        SettingsReader.read(
            entries.filter { known.contains($0.name) }, at: node.origin, settings, requiring: !hasUnknown, into: &draft,
            &context)
        guard let proof = draft.proof, !hasUnknown, !draft.place.isBroken else { return nil }
        draft.key.proof = proof
        return draft.key
    }
}
