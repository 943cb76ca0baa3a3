internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// The Telco Finder of a provider of verified phone numbers, while it is read: an OpenID provider with one client,
/// which is this server.
struct TelcoFinderDraft: Sendable {
    typealias Rules = TelcoFinderRules

    var issuer: EndpointURL?
    var apiRoot: EndpointURL?
    var client = ClientDraft()
    var scopes: [String]?
    var portabilitySearch: TelcoFinder.PortabilitySearch?
    var ifOtherOperator: NumberContradiction?
    var ifUnknown: NumberUncertainty?

    var isEmpty: Bool {
        issuer == nil && apiRoot == nil && client.id == nil && client.privateKey == nil && client.privateKeyID == nil
            && client.privateKeyAlgorithm == nil && client.assertionAudience == nil && scopes == nil
            && portabilitySearch == nil && ifOtherOperator == nil && ifUnknown == nil
    }

    static let settings: [Setting<ProviderDraft>] = [
        Setting(
            "telco_finder.issuer", .optional(.issuer), \.telcoFinder.issuer,
            "The issuer of GSMA's Telco Finder, which finds the operator of a phone number, spelled exactly as in its "
                + "metadata. For camara only."),
        Setting(
            "telco_finder.api_root", .optional(.issuer), \.telcoFinder.apiRoot,
            "The URL that the path of Telco Finder's API follows. For camara only."),
        Setting(
            "telco_finder.client_id", .optional(.clientID), \.telcoFinder.client.id,
            "The client_id of this server at Telco Finder. For camara only."),
        Setting(
            "telco_finder.private_key", .optional(.clientKey), \.telcoFinder.client.privateKey, isSecret: true,
            "The private key for private_key_jwt, in PEM or as a JSON Web Key, as that of a client. For camara only."),
        Setting(
            "telco_finder.private_key_id", .optional(.keyID), \.telcoFinder.client.privateKeyID,
            "The kid of the private key at Telco Finder, as that of a client. For camara only."),
        Setting(
            "telco_finder.private_key_alg", .optional(.choice(of: ClientKey.algorithms)),
            \.telcoFinder.client.privateKeyAlgorithm,
            "What the private key signs with, as that of a client. For camara only."),
        Setting(
            "telco_finder.assertion_audience", .optional(.choice), \.telcoFinder.client.assertionAudience,
            "The audience of a private_key_jwt for Telco Finder, as that of an operator. The default is endpoint. For "
                + "camara only."),
        Setting(
            "telco_finder.scopes", .optional(.list(of: .scope, "a list of scopes")), \.telcoFinder.scopes,
            "The scopes of access tokens for Telco Finder. The default is telcofinder. For camara only."),
        Setting(
            "telco_finder.portability_search", .optional(.choice), \.telcoFinder.portabilitySearch,
            "How far Telco Finder searches where numbers move between operators. shallow: in its own records, which "
                + "may be old, at less cost; deep: in all systems of the country. The default is deep. For camara only."
        ),
        Setting(
            "telco_finder.if_other_operator", .optional(.choice), \.telcoFinder.ifOtherOperator,
            "What happens if the number that an operator reports is another operator's by Telco Finder. refuse: the "
                + "number is not believed; report: it is in the log; off: Telco Finder is not asked about reported "
                + "numbers. The default is refuse. For camara only."),
        Setting(
            "telco_finder.if_unknown", .optional(.choice), \.telcoFinder.ifUnknown,
            "What happens if Telco Finder does not tell the operator of a reported number. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse. For camara only."),
    ]

    /// The Telco Finder; nil if none is given, and after reporting what is missing.
    func finished(
        _ origin: ConfigurationOrigin, _ context: inout ReadingContext
    ) -> TelcoFinderRules? {
        guard !isEmpty else { return nil }
        let missing = [
            ("issuer", issuer == nil), ("api_root", apiRoot == nil), ("client_id", client.id == nil),
            ("private_key", client.privateKey == nil),
        ].filter(\.1)
        for (key, _) in missing {
            context.refuse(
                origin, "has no telco_finder.\(key)", key == "private_key" ? "give it or private_key_file" : "give it")
        }
        guard missing.isEmpty, let issuer, let apiRoot, var finder = TelcoFinder(root: apiRoot) else { return nil }
        finder.portabilitySearch = portabilitySearch ?? finder.portabilitySearch
        finder.scopes = scopes ?? finder.scopes
        var draft = client
        draft.origin = origin
        guard let client = draft.finished(&context, assertionAudience: .endpoint) else { return nil }
        var rules = Rules(issuer: issuer, finder: finder, client: client)
        rules.ifOtherOperator = ifOtherOperator ?? rules.ifOtherOperator
        rules.ifUnknown = ifUnknown ?? rules.ifUnknown
        return rules
    }
}
