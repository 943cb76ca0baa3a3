internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// A provider of `providers`, while it is read.
struct ProviderDraft: Sendable {
    var kind: Configuration.Provider.Kind?
    var name: String?
    var issuer: EndpointURL?
    var authorizationEndpoint: EndpointURL?
    var tokenEndpoint: EndpointURL?
    var userEndpoint: EndpointURL?
    var subject: UserEndpoint.Member?
    var attributes: [UserAttribute: UserEndpoint.Member] = [:]
    var profile: SecurityProfile?
    var responseMode: AuthorizationResponseMode?
    var requiresIssuer: Bool?
    var loginInitiationClient: ClientID?
    var pushedAuthorizationRequests: FeatureUse?
    var dpop: FeatureUse?
    var mutualTLS: FeatureUse?
    var signedRequestObjects: FeatureUse?
    var backchannelTokenDelivery: BackchannelTokenDeliverySetting?
    var storesTokens = false
    var resources: [String: EndpointURL] = [:]
    var backchannelLogout = true
    var idTokenHint = true
    var idTokenTypes: [IDTokenType]?
    var clients: [ClientDraft] = []
    var purpose: Purpose?
    var simSwap = SIMSwapDraft()
    var telcoFinder = TelcoFinderDraft()
    var operators: [OperatorDraft] = []
    var redirectURIs: [String]?
    var clientTypes: [String: Set<ClientType>]?
    var requiresCodeChallenge: Bool?
    var allowedOrigins: [Origin]?

    /// The provider, or nil after reporting what is missing.
    mutating func finished(
        id: String, _ origin: ConfigurationOrigin, isBroken: Bool, _ context: inout ReadingContext
    ) -> Configuration.Provider? {
        if let profile {
            let before = context.problems.count
            meet(profile, origin, &context)
            guard context.problems.count == before else { return nil }
        }
        let clients = finishedClients(&context)
        guard !isBroken, clients.count == self.clients.count else { return nil }
        if kind == nil { context.refuse(origin, "has no kind", "give it: oidc, oauth2 or camara") }
        if issuer == nil { context.refuse(origin, "has no issuer", "give the provider's issuer, an https URL") }
        if clients.isEmpty { context.refuse(origin, "has no clients", "give the app's client id and secret") }
        guard let kind, let issuer, !clients.isEmpty else { return nil }
        var provider = Configuration.Provider(id: id, kind: kind, name: name, issuer: issuer, clients: clients)
        setValues(of: &provider)
        if let problem = loginInitiationProblem(kind, clients) {
            context.refuse(origin, "has initiate_login_client, but \(problem.reason)", problem.remedy)
        }
        if !resources.isEmpty, !storesTokens {
            context.refuse(origin, "has resources, but stores no tokens to fetch them with", "set store_tokens to true")
        }
        if provider.backchannelTokenDelivery != .off, !clients.contains(where: { $0.authentication != .publicClient }) {
            context.refuse(
                origin, "has backchannel_token_delivery_mode, but no client that authenticates",
                "give a client a secret or a private_key, or set it to off")
        }
        if kind == .oauth2 { refuseKeysOfOpenID(origin, &context) }
        refuseEndpoints(of: kind, origin, &context)
        guard kind == .oauth2 else { return provider }
        guard let authorizationEndpoint, let tokenEndpoint, let userEndpoint, let subject else { return nil }
        var user = UserEndpoint(url: userEndpoint, subject: subject)
        user.attributes = attributes
        provider.endpoints = .init(authorization: authorizationEndpoint, token: tokenEndpoint, user: user)
        return provider
    }

    /// Those of its clients that are right, after reporting what is wrong with the others.
    private func finishedClients(_ context: inout ReadingContext) -> [Configuration.Client] {
        clients.enumerated().compactMap { index, draft in
            context.beneath(".clients[\(index)]") { context in
                var draft = draft
                return draft.finished(
                    &context, secretRemedy: "give it, or secret_file, or signed_secret", hasIDTokens: kind != .oauth2,
                    assertionAudience: kind == .oauth2 ? .tokenEndpoint : .issuer)
            }
        }
    }

    private func setValues(of provider: inout Configuration.Provider) {
        provider.profile = profile
        provider.responseMode = responseMode ?? .query
        provider.requiresIssuer = requiresIssuer
        provider.loginInitiationClient = loginInitiationClient
        provider.storesTokens = storesTokens
        provider.resources = resources
        provider.backchannelLogout = backchannelLogout
        provider.idTokenHint = idTokenHint
        provider.idTokenTypes = idTokenTypes ?? provider.idTokenTypes
        provider.pushedAuthorizationRequests = pushedAuthorizationRequests ?? .auto
        provider.signedRequestObjects = signedRequestObjects ?? .auto
        provider.backchannelTokenDelivery = backchannelTokenDelivery ?? .off
        provider.mutualTLS = mutualTLS ?? .auto
        provider.dpop = dpop ?? .auto
    }
}
