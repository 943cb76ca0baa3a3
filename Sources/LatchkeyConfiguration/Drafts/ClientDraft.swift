package import OpenIDConnect
package import Primitives
package import SignIn

/// A client of `zenkey.clients`, or of a provider, while it is read. The file may leave the secret of the former to the
/// environment.
package struct ClientDraft: GroupDraft {
    /// The kind of its provider.
    package var kind = ProviderKind.zenkey
    package var id: ClientID?
    /// What is not made of several settings.
    package var rules = SignInConfiguration.ClientRules()
    var secret: Secret?
    var method: ClientAuthenticationMethod?
    var basicEncoding: BasicCredentialsEncoding?
    var privateKey = SigningKeyDraft()
    var otherPrivateKey = SigningKeyDraft()
    package var certificateFile: String?
    package var certificateKey: Secret?
    var assertionAudience: ClientAssertionAudience?
    var secretIssuer: String?
    var secretAudience: EndpointURL?
    var idTokens = EncryptionDraft()
    var userInfo = EncryptionDraft()
    var decryptionKey = DecryptionKeyDraft()
    var otherDecryptionKey = DecryptionKeyDraft()
    package var place = GroupPlace()

    package init() {}

    /// Whether its provider has ID tokens.
    var hasIDTokens: Bool { kind != .oauth2 && kind != .aggregator }

    /// The client, or nil after reporting what is wrong with it.
    package mutating func finished(_ context: inout ReadingContext) -> Configuration.Client? {
        guard !place.isBroken else { return nil }
        do throws(InvalidValueError) {
            guard let id else { throw InvalidValueError("has no id", "give it") }
            if hasIDTokens, !rules.scopes.contains("openid") {
                context.beneath(".scopes") {
                    $0.refuse(place.given["scopes"] ?? .none, "openid is missing", "add openid")
                }
                return nil
            }
            try require(
                hasIDTokens || rules.nonce == .client,
                else: "has nonce: issued, but there is no ID token that could carry it", "remove nonce")
            try checkClientTypes()
            try checkAlgorithms()
            guard try readCertificate(&context) else { return nil }
            let authentication = try authentication(&context)
            try checkEncoding(of: id, authentication)
            try checkOtherKey(authentication)
            try checkDecryption()
            if !hasIDTokens, place.given["scopes"] == nil { rules.scopes = [] }
            rules.idTokenDecryption = decryption(idTokens)
            rules.userInfoDecryption = decryption(userInfo)
            rules.signingKey = privateKey.named
            rules.otherKey = otherPrivateKey.named
            return Configuration.Client(id: id, authentication: authentication, rules: rules)
        } catch {
            context.refuse(place.origin, error.reason, error.remedy ?? "")
            return nil
        }
    }

    /// `client_types` must fit `redirect_uris`.
    private func checkClientTypes() throws(InvalidValueError) {
        for (uri, types) in rules.clientTypes.sorted(by: { $0.key < $1.key }) {
            try require(
                rules.redirectURIs.contains(uri),
                else: "has client_types for a redirect URI that its redirect_uris do not list",
                "add \(uri) to redirect_uris, or remove it from client_types")
            try require(
                !types.isEmpty, else: "has no client_types for \(uri)", "list at least one, or remove the entry")
            try require(
                !types.contains(.popup) || AppRedirectURI.origin(of: uri) != nil,
                else: "has the client type popup for \(uri), which has no origin to post to",
                "remove popup, or use an https redirect URI")
        }
    }
}

/// Where clients are in a configuration.
extension ClientDraft {
    /// The key that holds the clients of the carriers.
    static let setting = Setting<Configuration>(
        name: "zenkey.clients", type: "a list of clients, or id:secret,id2:secret2",
        schema: .list(of: .definition("client")), isSecret: true, isMerged: true,
        meaning:
            "The apps registered with the carriers. If the environment gives it too, only the clients named there are "
            + "used, with the secrets given there and the file's other values.",
        set: { node, _, context in
            if let drafts = read(node, of: .zenkey, known: context.clients, &context) { context.clients = drafts }
        }, show: { $0.zenkey.clients.map { "\($0.id.text):‹redacted›" }.joined(separator: ",") })

    /// Reads a list of clients, or `id:secret` pairs, which replace the secrets of the known clients. Nil after
    /// reporting that it is neither.
    /// - Parameter common: What each client begins as.
    static func read(
        _ node: ConfigurationNode, of kind: ProviderKind, known: [ClientDraft] = [],
        common: ClientDraft = ClientDraft(), _ context: inout ReadingContext
    ) -> [ClientDraft]? {
        guard let items = ListText.items(of: node, "a list of clients, or id:secret,id2:secret2", &context) else {
            return nil
        }
        var ids: Set<ClientID> = []
        return items.enumerated().map { index, item in
            context.beneath("[\(index)]") { context in
                let before = context.problems.count
                var draft = common
                switch item.value {
                case .mapping(let entries):
                    SettingsReader.read(entries, at: item.origin, settings, of: kind, into: &draft, &context)
                    draft.place.given.merge(common.place.given) { own, _ in own }
                case .text(let text): draft = readPair(text, item, known, common, &context)
                case .list, .empty:
                    context.refuse(item.origin, "is \(item.kind)", "give id, secret and the client's other keys")
                }
                draft.kind = kind
                draft.place.origin = item.origin
                draft.place.isBroken = context.problems.count != before
                if let id = draft.id, !ids.insert(id).inserted {
                    context.refuse(item.origin, "has the id of another client", "keep one of them")
                }
                return draft
            }
        }
    }

    /// Reads `id:secret`; the rest comes from the known client of that id.
    private static func readPair(
        _ text: String, _ item: ConfigurationNode, _ known: [ClientDraft], _ common: ClientDraft,
        _ context: inout ReadingContext
    ) -> ClientDraft {
        guard let colon = text.firstIndex(of: ":") else {
            context.refuse(item.origin, "has no colon", "write id:secret")
            return ClientDraft()
        }
        let idNode = altered(item) { $0.value = .text(String(text[..<colon])) }
        let secretNode = altered(item) { $0.value = .text(String(text[text.index(after: colon)...])) }
        let id = context.beneath(".id") { ValueType<ClientID>.clientID.read(idNode, &$0) }
        let secret = context.beneath(".secret") { ValueType<Secret>.clientSecret.read(secretNode, &$0) }
        var draft = id.flatMap { id in known.first { $0.id == id } } ?? common
        draft.id = id
        draft.secret = secret
        return draft
    }
}

extension [ClientDraft] {
    /// The clients, without those that it reports.
    /// - Parameter key: The key that holds them, after a dot.
    func finished(beneath key: String, _ context: inout ReadingContext) -> [Configuration.Client] {
        enumerated().compactMap { index, draft in
            var draft = draft
            return context.beneath("\(key)[\(index)]") { draft.finished(&$0) }
        }
    }
}
