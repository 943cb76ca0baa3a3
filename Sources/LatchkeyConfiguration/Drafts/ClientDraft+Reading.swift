internal import OpenIDConnect
internal import Primitives
internal import SignIn

extension ClientDraft {
    /// The key that holds the clients.
    static let setting = Setting<Configuration>(
        "zenkey.clients", "a list of clients, or id:secret,id2:secret2", schema: .list(of: .definition("client")),
        isSecret: true, isMerged: true,
        "The apps registered with the carriers. If the environment gives it too, only the clients named there are "
            + "used, with the secrets given there and the file's other values.",
        set: { node, _, context in
            if let drafts = read(node, known: context.clients, &context) { context.clients = drafts }
        }, show: { $0.zenkey.clients.map { "\($0.id.text):‹redacted›" }.joined(separator: ",") })

    /// Reads a list of clients, or `id:secret` pairs, which replace the secrets of the known clients. Nil after
    /// reporting that it is neither.
    static func read(
        _ node: ConfigurationNode, known: [ClientDraft], _ context: inout ReadingContext
    ) -> [ClientDraft]? {
        guard let items = ListText.items(of: node, "a list of clients, or id:secret,id2:secret2", &context) else {
            return nil
        }
        var drafts: [ClientDraft] = []
        var ids: Set<ClientID> = []
        for (index, item) in items.enumerated() {
            context.beneath("[\(index)]") { context in
                var draft = read(item: item, known, &context)
                draft.origin = item.origin
                if let id = draft.id, !ids.insert(id).inserted {
                    context.refuse(item.origin, "has the id of another client", "keep one of them")
                }
                drafts.append(draft)
            }
        }
        return drafts
    }

    private static func read(
        item: ConfigurationNode, _ known: [ClientDraft], _ context: inout ReadingContext
    ) -> ClientDraft {
        let before = context.problems
        var draft: ClientDraft
        switch item.value {
        case .mapping(let entries):
            draft = ClientDraft()
            draft.scopesOrigin = SettingsReader.read(entries, settings, into: &draft, &context)["scopes"]?.origin
        case .text(let text): draft = readPair(text, item, known, &context)
        case .list, .empty:
            draft = ClientDraft()
            context.refuse(item.origin, "is \(item.kind)", "give id, secret and the client's other keys")
        }
        draft.isBroken = context.problems.count != before.count
        return draft
    }

    /// Reads `id:secret`; the rest comes from the known client of that id.
    private static func readPair(
        _ text: String, _ item: ConfigurationNode, _ known: [ClientDraft], _ context: inout ReadingContext
    ) -> ClientDraft {
        guard let colon = text.firstIndex(of: ":") else {
            context.refuse(item.origin, "has no colon", "write id:secret")
            return ClientDraft()
        }
        var (idNode, secretNode) = (item, item)
        idNode.value = .text(String(text[..<colon]))
        secretNode.value = .text(String(text[text.index(after: colon)...]))
        let id = context.beneath(".id") { ValueType<ClientID>.clientID.read(idNode, &$0) }
        let secret = context.beneath(".secret") { ValueType<Secret>.clientSecret.read(secretNode, &$0) }
        var draft = known.first { $0.id != nil && $0.id == id } ?? ClientDraft()
        draft.id = id
        draft.secret = secret
        return draft
    }
}
