internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// A mobile operator of `providers[].operators`, while it is read: an OpenID provider with one client, which is this
/// server.
struct OperatorDraft: Sendable {
    var name: String?
    var networks: [MCCMNC] = []
    var issuer: EndpointURL?
    var apiRoot: EndpointURL?
    var client = ClientDraft()
    var takesHashes = false
    var finderID: String?
    /// The place of the operator's entry.
    var origin = ConfigurationOrigin.none
    /// Whether a problem with it was reported.
    var isBroken = false

    static let settings: [Setting<OperatorDraft>] = [
        Setting(
            "name", .optional(.operatorName), \.name,
            "The operator's name in requests: 1 to 32 lower-case letters, digits and hyphens. It must never change."),
        Setting(
            "operator_id", .optional(.keyID), \.finderID,
            "The id by which Telco Finder knows the operator (operatorId). The default is its name."),
        Setting(
            "mccmnc", .list(of: .network, "a list of mccmnc"), \.networks, "The networks that the operator serves."),
        Setting(
            "issuer", .optional(.issuer), \.issuer,
            "The operator's issuer, spelled exactly as in its metadata and ID tokens."),
        Setting(
            "api_root", .optional(.issuer), \.apiRoot,
            "The URL that the paths of the operator's CAMARA APIs follow, such as https://api.northwind.example."),
        Setting("client_id", .optional(.clientID), \.client.id, "The client_id of this server at the operator."),
        Setting(
            "private_key", .optional(.clientKey), \.client.privateKey, isSecret: true,
            "The private key for private_key_jwt, in PEM or as a JSON Web Key, as that of a client."),
        Setting(
            "private_key_id", .optional(.keyID), \.client.privateKeyID,
            "The kid of the private key at the operator, as that of a client."),
        Setting(
            "private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.client.privateKeyAlgorithm,
            "What the private key signs with, as that of a client."),
        Setting(
            "other_private_key", .optional(.clientKey), \.client.otherPrivateKey, isSecret: true,
            "A second private key, as that of a client."),
        Setting(
            "other_private_key_id", .optional(.keyID), \.client.otherPrivateKeyID,
            "The kid of other_private_key, as that of a client."),
        Setting(
            "other_private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.client.otherPrivateKeyAlgorithm,
            "What other_private_key signs with, as that of a client."),
        Setting(
            "assertion_audience", .optional(.choice), \.client.assertionAudience,
            "The audience of a private_key_jwt for the operator. endpoint: the endpoint that the request goes to, the "
                + "default for operators; issuer: the operator's issuer; token_endpoint: its token endpoint."),
        Setting(
            "hashed_phone_number", .flag(), \.takesHashes,
            "Whether a number to verify is sent as its SHA-256, for an operator that takes it."),
        Setting(
            "id_token_signed_response_alg", .optional(.choice), \.client.idTokenSigningAlgorithm,
            "The only algorithm that the operator's ID tokens may be signed with, as that of a client."),
    ]

    /// Reads a list of operators; nil after reporting that it is none.
    static func read(_ node: ConfigurationNode, _ context: inout ReadingContext) -> [OperatorDraft]? {
        guard case .list(let items) = node.value else {
            context.refuse(node.origin, "is \(node.kind)", "give a list of operators")
            return nil
        }
        return items.enumerated().map { index, item in
            context.beneath("[\(index)]") { context in
                let before = context.problems.count
                var draft = OperatorDraft()
                draft.origin = item.origin
                if case .mapping(let entries) = item.value {
                    SettingsReader.read(entries, settings, into: &draft, &context)
                } else {
                    context.refuse(item.origin, "is \(item.kind)", "give name, issuer and the operator's other keys")
                }
                draft.isBroken = context.problems.count != before
                return draft
            }
        }
    }

    /// The operator's client with what the provider says of its apps; nil after reporting what is missing.
    /// - Parameter shared: The redirect URIs and the like.
    func finished(
        for purpose: Purpose, _ shared: ClientDraft, _ context: inout ReadingContext
    ) -> (operator: MobileOperator.Settings, issuer: EndpointURL, client: Configuration.Client)? {
        guard !isBroken else { return nil }
        let missing = [
            ("name", name == nil), ("issuer", issuer == nil), ("api_root", apiRoot == nil),
            ("client_id", client.id == nil), ("private_key", client.privateKey == nil),
        ].filter(\.1)
        for (key, _) in missing {
            context.refuse(
                origin, "has no \(key)", key == "private_key" ? "give it or private_key_file" : "give it")
        }
        guard missing.isEmpty, let name, let issuer, let apiRoot, let apis = OperatorAPIs(root: apiRoot) else {
            return nil
        }
        var mobileOperator = MobileOperator.Settings(
            name: name, networks: Set(networks), apis: apis, purpose: purpose)
        mobileOperator.takesHashes = takesHashes
        mobileOperator.finderID = finderID ?? name
        var draft = client
        draft.origin = origin
        draft.redirectURIs = shared.redirectURIs
        draft.clientTypes = shared.clientTypes
        draft.requiresCodeChallenge = shared.requiresCodeChallenge
        draft.allowedOrigins = shared.allowedOrigins
        draft.scopes = mobileOperator.scopes
        guard let client = draft.finished(&context, assertionAudience: .endpoint) else { return nil }
        return (mobileOperator, issuer, client)
    }
}
