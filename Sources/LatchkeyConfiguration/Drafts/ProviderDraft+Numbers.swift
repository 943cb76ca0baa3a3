internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// What a changed SIM means, while it is read.
struct SIMSwapDraft: Sendable {
    typealias Policy = SIMSwapPolicy

    var maximumAge: Int?
    var ifSwapped: NumberContradiction?
    var ifUnknown: NumberUncertainty?

    var isEmpty: Bool { maximumAge == nil && ifSwapped == nil && ifUnknown == nil }

    /// The policy. A given age switches the check on.
    var policy: Policy {
        var policy = Policy()
        if !isEmpty { policy.ifSwapped = .refuse }
        policy.maximumAge = maximumAge ?? policy.maximumAge
        policy.ifSwapped = ifSwapped ?? policy.ifSwapped
        policy.ifUnknown = ifUnknown ?? policy.ifUnknown
        return policy
    }
}

/// The keys of a provider of verified phone numbers (`kind: camara`).
extension ProviderDraft {
    static let ofNumbers = ofPurpose + TelcoFinderDraft.settings + ofApps

    private static let ofPurpose: [Setting<ProviderDraft>] = [
        Setting(
            "purpose", .optional(.purpose), \.purpose,
            "Why phone numbers are verified: a purpose of the W3C Data Privacy Vocabulary, such as "
                + "dpv:FraudPreventionAndDetection, which operators check against the registration. For camara only."),
        Setting(
            "sim_swap.max_age_hours", .optional(.integer(1...2400)), \.simSwap.maximumAge,
            "How long a change of the SIM counts, in hours. The default is 240. For camara only."),
        Setting(
            "sim_swap.if_swapped", .optional(.choice), \.simSwap.ifSwapped,
            "What a change of the SIM within that time leads to. refuse: the number is not believed; report: it is in "
                + "the log; off: the operator is not asked. The default is refuse if another key of sim_swap is given, "
                + "and off otherwise. For camara only."),
        Setting(
            "sim_swap.if_unknown", .optional(.choice), \.simSwap.ifUnknown,
            "What happens if the operator does not tell whether the SIM was changed. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse. For camara only."),
    ]

    private static let ofApps: [Setting<ProviderDraft>] = [
        Setting(
            "redirect_uris", .optional(.list(of: .redirectURI, "a list of redirect URIs")), \.redirectURIs,
            "The redirect URIs of the apps that verify numbers, as those of a client. For camara only."),
        Setting(
            "client_types", .optional(.clientTypes), \.clientTypes,
            "The kinds of frontend that a redirect URI is for, as those of a client. For camara only."),
        Setting(
            "require_code_challenge", .optional(.flag()), \.requiresCodeChallenge,
            "Whether a sign-in needs a code_challenge, as that of a client. The default is false. For camara only."),
        Setting(
            "allowed_origins", .optional(.list(of: .origin, "a list of origins")), \.allowedOrigins,
            "The origins of the apps' web frontends, as those of a client. For camara only."),
        Setting(
            "operators", "a list of operators", schema: .list(of: .definition("operator")), isSecret: false,
            "The mobile operators, each an OpenID provider with CAMARA APIs. For camara only.",
            set: { node, draft, context in draft.operators = OperatorDraft.read(node, &context) ?? draft.operators },
            show: { $0.operators.compactMap(\.name).joined(separator: ",") }),
    ]

    /// Reports the keys that are for verified phone numbers only.
    func refuseKeysOfNumbers(_ origin: ConfigurationOrigin, _ context: inout ReadingContext) {
        let given = [
            ("purpose", purpose != nil), ("sim_swap", !simSwap.isEmpty), ("telco_finder", !telcoFinder.isEmpty),
            ("operators", !operators.isEmpty),
            ("redirect_uris", redirectURIs != nil), ("client_types", clientTypes != nil),
            ("require_code_challenge", requiresCodeChallenge != nil), ("allowed_origins", allowedOrigins != nil),
        ]
        for (name, isGiven) in given where isGiven {
            let remedy =
                ["redirect_uris", "client_types", "require_code_challenge", "allowed_origins"].contains(name)
                ? "give it to one of its clients" : "remove it, or make the kind camara"
            context.refuse(origin, "has \(name), which is for providers of kind camara", remedy)
        }
    }

    /// One provider for each operator; none after reporting what is wrong.
    func operators(
        id: String, _ origin: ConfigurationOrigin, isBroken: Bool, _ context: inout ReadingContext
    ) -> [Configuration.Provider] {
        let before = context.problems.count
        refuseKeysOfOthers(origin, &context)
        if purpose == nil, !isBroken {
            context.refuse(
                origin, "has no purpose", "give the purpose that the operators have registered, dpv: and its name")
        }
        if operators.isEmpty, !isBroken { context.refuse(origin, "has no operators", "list at least one") }
        refuseDoubles(&context)
        let finder = isBroken ? nil : telcoFinder.finished(origin, &context)
        guard let purpose, !isBroken, context.problems.count == before else { return [] }
        var shared = ClientDraft()
        shared.redirectURIs = redirectURIs ?? []
        shared.clientTypes = clientTypes ?? [:]
        shared.requiresCodeChallenge = requiresCodeChallenge ?? false
        shared.allowedOrigins = allowedOrigins ?? []
        return operators.enumerated().compactMap { index, draft in
            let found = context.beneath(".operators[\(index)]") { draft.finished(for: purpose, shared, &$0) }
            guard let (found, issuer, client) = found else { return nil }
            var mobileOperator = found
            mobileOperator.simSwap = simSwap.policy
            var provider = Configuration.Provider(
                id: ProviderReference(provider: id, operatorName: mobileOperator.name).text, kind: .camara,
                name: name ?? id, issuer: issuer, clients: [client])
            provider.mobileOperator = mobileOperator
            provider.telcoFinder = finder
            provider.requiresIssuer = requiresIssuer
            provider.pushedAuthorizationRequests = pushedAuthorizationRequests ?? .auto
            provider.dpop = dpop ?? .auto
            provider.signedRequestObjects = signedRequestObjects ?? .auto
            provider.idTokenTypes = idTokenTypes ?? provider.idTokenTypes
            provider.backchannelLogout = false
            provider.idTokenHint = false
            return provider
        }
    }

    /// Reports the keys of other kinds of provider.
    private func refuseKeysOfOthers(_ origin: ConfigurationOrigin, _ context: inout ReadingContext) {
        let given = [
            ("issuer", issuer != nil), ("clients", !clients.isEmpty), ("profile", profile != nil),
            ("authorization_endpoint", authorizationEndpoint != nil), ("token_endpoint", tokenEndpoint != nil),
            ("user_endpoint", userEndpoint != nil), ("subject", subject != nil), ("attributes", !attributes.isEmpty),
            ("response_mode", responseMode != nil), ("initiate_login_client", loginInitiationClient != nil),
            ("mtls", mutualTLS != nil), ("store_tokens", storesTokens), ("resources", !resources.isEmpty),
            ("backchannel_token_delivery_mode", backchannelTokenDelivery != nil),
        ]
        for (name, isGiven) in given where isGiven {
            let remedy =
                ["issuer", "clients"].contains(name) ? "give it to each of its operators" : "remove it"
            context.refuse(origin, "has \(name), which is not for providers of kind camara", remedy)
        }
    }

    /// Reports operators that a request could not tell apart.
    private func refuseDoubles(_ context: inout ReadingContext) {
        var (names, issuers, networks): (Set<String>, Set<String>, Set<MCCMNC>) = ([], [], [])
        var finderIDs: Set<String> = []
        for (index, draft) in operators.enumerated() {
            context.beneath(".operators[\(index)]") { context in
                if let name = draft.name, !names.insert(name).inserted {
                    context.refuse(draft.origin, "has the name of another operator", "give it another name")
                }
                if let id = draft.finderID ?? draft.name, !finderIDs.insert(id).inserted {
                    context.refuse(
                        draft.origin, "has the operator_id of another operator", "give each operator_id once")
                }
                if let issuer = draft.issuer, !issuers.insert(issuer.text).inserted {
                    context.refuse(draft.origin, "has the issuer of another operator", "give each issuer once")
                }
                for network in Set(draft.networks) where !networks.insert(network).inserted {
                    context.refuse(
                        draft.origin, "has the mccmnc \(network.text) of another operator", "give each network once")
                }
            }
        }
    }
}
