internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// The mobile operators of a provider of verified phone numbers (`kind: camara`), each an OpenID provider with one
/// client, which is this server.
extension ProviderDraft {
    /// Reads a list of operators, each of which begins as what the provider says of all; or reports that it is not one.
    mutating func readOperators(_ node: ConfigurationNode, _ context: inout ReadingContext) {
        guard case .list(let items) = node.value else {
            return context.refuse(node.origin, "is \(node.kind)", "give a list of operators")
        }
        let given = place.given
        if given["sim_swap.if_swapped"] == nil, given.keys.contains(where: { $0.hasPrefix("sim_swap.") }) {
            simSwap.ifSwapped = .refuse
        }
        let common = self
        operators = items.enumerated().map { index, item in
            context.beneath("[\(index)]") { context in
                var draft = common
                guard case .mapping(let entries) = item.value else {
                    context.refuse(item.origin, "is \(item.kind)", "give name, issuer and the operator's other keys")
                    return draft
                }
                SettingsReader.read(entries, at: item.origin, Self.operatorSettings, into: &draft, &context)
                (draft.client.kind, draft.client.place.origin) = (.camara, item.origin)
                return draft
            }
        }
    }

    /// One provider for each operator; none after reporting what is wrong.
    mutating func finishedOperators(_ context: inout ReadingContext) -> [Configuration.Provider] {
        guard !place.isBroken else { return [] }
        let before = context.problems.count
        refuseDoubles(&context)
        (telcoFinder.client.kind, telcoFinder.client.place.origin) = (.camara, place.origin)
        let finder = telcoFinder.finished(&context)
        guard context.problems.count == before else { return [] }
        return operators.enumerated().compactMap { index, draft in
            var draft = draft
            return context.beneath(".operators[\(index)]") { draft.finishedOperator(finder, &$0) }
        }
    }

    /// A mobile operator with its one client, or nil after reporting what is wrong.
    private mutating func finishedOperator(
        _ finder: TelcoFinderRules?, _ context: inout ReadingContext
    ) -> Configuration.Provider? {
        // The reader has reported what is required and missing.
        guard let operatorName, let purpose, let apis = apiRoot.flatMap(OperatorAPIs.init(root:)) else { return nil }
        var settings = MobileOperatorSettings(name: operatorName, networks: networks, apis: apis, purpose: purpose)
        settings.simSwap = simSwap
        settings.finderID = finderID ?? operatorName
        settings.takesHashes = takesHashes
        settings.apis.deployment = deployment
        let before = context.problems.count
        settings.credentials = context.beneath(".digital_credential") { credentials.finished(place.origin, &$0) }
        guard context.problems.count == before else { return nil }
        client.rules.scopes = settings.scopes
        let id = ProviderReference(provider: id, operatorName: operatorName).text
        guard let client = client.finished(&context), var provider = provider(id, [client]) else { return nil }
        provider.mobileOperator = settings
        provider.telcoFinder = finder
        provider.rules.endsSessions = false
        provider.rules.keepsIDTokens = false
        return provider
    }

    /// Reports operators that a request could not tell apart.
    private func refuseDoubles(_ context: inout ReadingContext) {
        var seen: Set<[String]> = []
        for (index, draft) in operators.enumerated() {
            let unique = [
                ("name", draft.operatorName, "give it another name"),
                ("operator_id", draft.finderID ?? draft.operatorName, "give each operator_id once"),
                ("issuer", draft.issuer?.text, "give each issuer once"),
            ]
            let networks = draft.networks.map(\.text).sorted().map { ("mccmnc \($0)", $0, "give each network once") }
            for (what, value, remedy) in unique + networks where !seen.insert([what, value ?? ""]).inserted {
                context.beneath(".operators[\(index)]") {
                    $0.refuse(draft.place.origin, "has the \(what) of another operator", remedy)
                }
            }
        }
    }
}

/// How phones are asked for a digital credential of one operator, while it is read.
struct CredentialRequestDraft: Sendable {
    var origins: [String] = []
    var certificateFile: String?
    var certificateKey: Secret?
    var encryptionKey: String?
    var consent: String?

    /// The rules, or nil if there are none or after reporting what is wrong with the certificate.
    fileprivate func finished(
        _ origin: ConfigurationOrigin, _ context: inout ReadingContext
    ) -> CredentialRequestRules? {
        // The reader has reported what is required and missing.
        guard !origins.isEmpty, let encryptionKey else { return nil }
        var holder = ClientDraft()
        (holder.certificateFile, holder.certificateKey) = (certificateFile, certificateKey)
        holder.place.origin = origin
        guard (try? holder.readCertificate(&context)) == true, let signer = holder.rules.clientTLS else { return nil }
        guard signer.certificate.writePublicKey != nil else {
            context.refuse(
                origin, "has a certificate whose key is not RSA of 2048 to 8192 bits, P-256 or Ed25519",
                "use one with such a key, which signs the requests")
            return nil
        }
        var rules = CredentialRequestRules(origins: origins, signer: signer, encryptionKey: encryptionKey)
        rules.consent = consent
        return rules
    }
}

/// Firebase Phone Number Verification (`kind: firebase_pnv`): an issuer of ID tokens that apps bring, with one client,
/// which is the project.
extension ProviderDraft {
    private static let firebase = "https://fpnv.googleapis.com"

    /// The provider, or nil if the reader has reported what is missing.
    func finishedFirebase() -> Configuration.Provider? {
        func project(_ name: String?) -> String? { name.map { "\(Self.firebase)/projects/\($0)" } }
        var draft = self
        draft.issuer = project(projectNumber).flatMap { EndpointURL($0, policy: .httpsOnly) }
        guard !place.isBroken, let audience = draft.issuer.flatMap({ ClientID($0.text) }),
            let other = project(projectID).flatMap({ ClientID($0) }),
            let keys = rules.endpoints["jwks_uri"] ?? EndpointURL("\(Self.firebase)/v1beta/jwks", policy: .httpsOnly)
        else { return nil }
        var client = Configuration.Client(id: audience, authentication: .publicClient)
        client.requiredAudiences = [other]
        client.idTokenSigningAlgorithm = .es256
        client.native.nonce = place.given["native_nonce"] == nil ? .none : self.client.rules.native.nonce
        draft.rules.endpoints["jwks_uri"] = keys
        draft.rules.endsSessions = false
        draft.rules.keepsIDTokens = false
        var provider = draft.provider(id, [client])
        provider?.numberRules = numberRules
        return provider
    }
}

/// An aggregator of mobile networks (`kind: aggregator`), with one client, which is this server.
extension ProviderDraft {
    /// The provider, or nil after reporting what is wrong.
    mutating func finishedAggregator(_ context: inout ReadingContext) -> Configuration.Provider? {
        guard !place.isBroken else { return nil }
        let before = context.problems.count
        for name in ["token_endpoint", "prepare_endpoint", "process_endpoint"] where rules.endpoints[name] == nil {
            context.refuse(place.origin, "has no \(name)", "give the URL that the aggregator names for it")
        }
        context.refuse(
            if: aggregator.credentialOrigins.isEmpty && aggregator.linkNetworks.isEmpty, place.origin,
            "has no credential_origins, so that no credential could be for it",
            "list the origins of the app and of the pages that ask for credentials")
        context.refuse(
            if: !aggregator.linkNetworks.isEmpty && client.rules.redirectURIs.isEmpty, place.origin,
            "has link_mccmnc, but no redirect_uris", "list where the browser of a link ends")
        if let (first, second) = aggregator.overlapping {
            context.refuse(
                place.origin, "has fields in which \(first.rawValue) and \(second.rawValue) are in one place",
                "give each its own member")
        }
        (client.kind, client.place.origin) = (.aggregator, place.origin)
        guard context.problems.count == before, let client = client.finished(&context),
            var provider = provider(id, [client])
        else { return nil }
        provider.numberRules = numberRules
        provider.aggregator = altered(aggregator) { ($0.simSwap, $0.headers) = (simSwap, deployment.headers) }
        provider.rules.endsSessions = false
        provider.rules.keepsIDTokens = false
        return provider
    }
}

/// The Telco Finder of a provider of verified phone numbers, while it is read.
struct TelcoFinderDraft: Sendable {
    var issuer: EndpointURL?
    var apiRoot: EndpointURL?
    var scopes = ["telcofinder"]
    var portabilitySearch = TelcoFinder.PortabilitySearch.deep
    var findsByAddress = false
    var ifOtherOperator = NumberContradiction.refuse
    var ifUnknown = NumberUncertainty.refuse
    /// This server at Telco Finder.
    var client = ClientDraft()

    /// The rules, or nil if there is no Telco Finder or after reporting what is wrong with its client.
    mutating func finished(_ context: inout ReadingContext) -> TelcoFinderRules? {
        guard let issuer, var finder = apiRoot.flatMap(TelcoFinder.init(root:)),
            let client = client.finished(&context)
        else { return nil }
        finder.scopes = scopes
        finder.portabilitySearch = portabilitySearch
        finder.findsByAddress = findsByAddress
        var rules = TelcoFinderRules(issuer: issuer, finder: finder, client: client)
        rules.ifOtherOperator = ifOtherOperator
        rules.ifUnknown = ifUnknown
        return rules
    }
}
