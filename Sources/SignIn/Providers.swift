public import OpenIDConnect
public import Primitives

/// A provider of sign-ins, as everything that signs in knows it.
///
/// A class, because each sign-in passes it on.
package final class Provider: Sendable {
    /// The protocol, with what only providers of this protocol have.
    package enum Kind: Sendable {
        /// Mobile carriers, each found by the discovery service from its `mccmnc`.
        case carriers(Carriers, AuthorizationServer)
        /// An OpenID provider, found by its issuer (OpenID Connect Discovery section 4).
        case openID(AuthorizationServer)
        /// An OAuth 2.0 provider without ID tokens. Its user endpoint identifies the user.
        case oauth2(AuthorizationServer)
        /// Several, of a kind that a feature brings.
        case group(any ServerGroup)
    }

    /// The name in paths, such as `zenkey`.
    package let name: String
    /// The name that users see.
    package let title: String
    /// The color of the button that leads to it, `#rrggbb`.
    package let color: String?
    package let kind: Kind

    package init(name: String, title: String, color: String? = nil, kind: Kind) {
        self.name = name
        self.title = title
        self.color = color
        self.kind = kind
    }

    /// What only carriers have; without either, only clients that name the network sign in.
    ///
    /// - `discoveryUI` is the page where users choose their carrier. Clients with an unknown network get its URL.
    /// - `authorizationURL` is the authorization endpoint that finds the user's carrier itself, and names it in the
    ///   response (optimized discovery). Without one, the carrier is found before the request.
    package typealias Carriers = (discoveryUI: EndpointURL?, authorizationURL: EndpointURL?)
}

/// The name of a kind of provider in the API and in the configuration.
public enum ProviderKind: String, Sendable, Hashable, CaseIterable {
    /// Mobile carriers behind ZenKey's discovery.
    case zenkey
    /// An OpenID provider.
    case oidc
    /// An OAuth 2.0 provider without ID tokens.
    case oauth2
    /// Mobile operators with CAMARA's APIs.
    case camara
    /// Firebase Phone Number Verification.
    case firebasePNV = "firebase_pnv"
    /// An aggregator of mobile networks, to which apps bring digital credentials of phone numbers.
    case aggregator

    /// Whether apps bring what proves a number: no browser signs in there, and there is no metadata.
    package var takesProofs: Bool { self == .firebasePNV || self == .aggregator }
}

extension Provider {
    /// The kind, by its name in the API.
    package var kindName: ProviderKind {
        switch kind {
        case .carriers: .zenkey
        case .openID: .oidc
        case .oauth2: .oauth2
        case .group(let group): group.kind
        }
    }

    /// The one that signs users in; nil for a group, which has several.
    package var server: AuthorizationServer? {
        switch kind {
        case .carriers(_, let server), .openID(let server), .oauth2(let server): server
        case .group: nil
        }
    }

    /// Those that sign users in.
    var servers: [AuthorizationServer] { server.map { [$0] } ?? group.map { Array($0.servers.values) } ?? [] }

    /// What only carriers have; nil for other kinds.
    package var carriers: Carriers? {
        guard case .carriers(let carriers, _) = kind else { return nil }
        return carriers
    }

    /// The rules of an OpenID provider; nil for other kinds.
    package var openID: ServerRules? {
        guard case .openID(let server) = kind else { return nil }
        return server.rules
    }

    /// The group of servers; nil for one server.
    package var group: (any ServerGroup)? {
        guard case .group(let group) = kind else { return nil }
        return group
    }

    /// The clients of all servers.
    package var allClients: [SignInConfiguration.Client] { servers.flatMap(\.clients.values) }
}

/// All providers of sign-ins, by their names in paths.
package struct Providers: Sendable {
    private let byName: [String: Provider]
    private let targets: [ProviderReference: SignInTarget]

    /// - Parameter providers: With different names.
    package init(_ providers: [Provider] = []) {
        byName = Dictionary(providers.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let targets = byName.values.flatMap { provider in
            (provider.group?.servers ?? [:]).map { SignInTarget(provider, $1, named: $0.isEmpty ? nil : $0) }
                + (provider.server.map { [SignInTarget(provider, $0)] } ?? [])
        }
        self.targets = Dictionary(targets.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sorted by name.
    package var all: [Provider] { byName.values.sorted { $0.name < $1.name } }

    /// The provider of a name in paths; nil if there is none.
    package subscript(name: String) -> Provider? { byName[name] }

    /// Whom a reference names; nil if there is no such provider or operator, or if the provider has operators and the
    /// reference names none.
    package subscript(reference: ProviderReference) -> SignInTarget? { targets[reference] }

    /// The group of a reference, also of one to a server that it has no more.
    package func group(of reference: ProviderReference) -> (any ServerGroup)? { byName[reference.provider]?.group }

    /// The provider of a name in paths.
    /// - Throws: `not_found` if there is none.
    package func find(_ name: String) throws(SignInError) -> Provider {
        guard let provider = byName[name] else { throw .unknownProvider(in: self) }
        return provider
    }

    /// Whom a reference names.
    /// - Throws: `not_found` if there is no such provider or operator.
    package func find(_ reference: ProviderReference) throws(SignInError) -> SignInTarget {
        guard let target = self[reference] else { throw .unknownProvider(in: self) }
        return target
    }

    /// The provider of a call that groups do not have.
    /// - Parameter instead: What to call at one of those.
    /// - Throws: `not_found` if no provider has the name; `invalid_request` if it is a group.
    package func find(
        withoutOperators name: String,
        instead: String = "Begin the sign-in at its start, or send an operator_token to its sign-in call."
    ) throws(SignInError) -> SignInTarget {
        if let group = byName[name]?.group {
            throw .invalidRequest("A provider of kind \(group.kind.rawValue) has no such call. \(instead)")
        }
        return try find(ProviderReference(provider: name))
    }

    /// The relying parties of all providers and groups, by ``ProviderReference/text``.
    package var relyingParties: [String: RelyingParty] {
        var parties = Dictionary(
            targets.map { ($0.key.text, $0.value.relyingParty) }, uniquingKeysWith: { first, _ in first })
        for provider in byName.values {
            for (name, party) in provider.group?.otherParties ?? [:] {
                parties[ProviderReference(provider: provider.name, operatorName: name).text] = party
            }
        }
        return parties
    }

    /// The clients of providers that may have an end-session endpoint.
    var clientsWithIDTokens: Set<String> {
        Set(byName.values.filter { $0.openID?.keepsIDTokens ?? false }.flatMap(\.allClients).map(\.id.text))
    }
}

extension SignInError {
    package static func unknownProvider(in providers: Providers) -> SignInError {
        unknownProvider(among: providers.all.map(\.name))
    }
}

/// Names a provider, or one of its mobile operators.
package struct ProviderReference: Sendable, Hashable {
    /// The provider's name in paths.
    package let provider: String
    /// The operator's name in requests; nil for the provider itself.
    package let operatorName: String?

    package init(provider: String, operatorName: String? = nil) {
        self.provider = provider
        self.operatorName = operatorName
    }

    /// Reads ``text``.
    package init(text: String) {
        let parts = text.split(ascii: "/", maxSplits: 1)
        self.init(provider: parts.first.map(String.init) ?? "", operatorName: parts.count > 1 ? String(parts[1]) : nil)
    }

    /// The name in records, logs and metrics: the provider's, and after a slash the operator's. No name of
    /// a provider has a slash.
    package var text: String { operatorName.map { "\(provider)/\($0)" } ?? provider }
}

/// Whom a sign-in is with: a provider, or one server of its group.
///
/// A class, because it is large: each function that waits would have copies of it in its frame.
package final class SignInTarget: Sendable {
    package let provider: Provider
    /// Its name in requests and records.
    package let reference: ProviderReference
    /// The provider's own one, or the one of its group.
    package let server: AuthorizationServer

    /// - Parameter name: The server's in its group; nil without a group.
    init(_ provider: Provider, _ server: AuthorizationServer, named name: String? = nil) {
        self.provider = provider
        self.server = server
        reference = ProviderReference(provider: provider.name, operatorName: name)
    }

    package var relyingParty: RelyingParty { server.relyingParty }

    /// Whether the network of a user decides which carrier it is.
    package var usesNetworkDiscovery: Bool { provider.carriers != nil }

    /// Whether ID tokens confirm sign-ins.
    package var hasIDTokens: Bool { provider.kindName != .oauth2 }

    /// What the configuration demands of each sign-in of a client; nil if nothing, or if no ID token can confirm it.
    package func fixedDemand(of clientID: ClientID) -> AuthenticationDemand? {
        hasIDTokens ? server.fixedDemands[clientID] : nil
    }

    /// What a request that this server writes demands: what an app asks for, and what the configuration demands.
    package func completed(_ demand: AuthenticationDemand, of clientID: ClientID) -> AuthenticationDemand {
        fixedDemand(of: clientID).map { fixed in altered(demand) { $0.complete(with: fixed) } } ?? demand
    }

    /// The metadata of the carrier of a network, or of the one provider.
    package func discover(
        _ network: MCCMNC?, for clientID: ClientID, _ correlationID: CorrelationID
    ) async throws(SignInError) -> ProviderMetadata {
        try await mappingProviderErrors(
            await relyingParty.provider(for: network, clientID: clientID, correlationID: correlationID),
            discoveryUI: provider.carriers?.discoveryUI)
    }
}

/// What signs users in at a provider: the relying party there, with the clients that are registered. All carriers
/// behind one discovery service are one.
///
/// A class, because each sign-in passes it on.
package final class AuthorizationServer: Sendable {
    /// Discovers it, and sends it requests.
    package let relyingParty: RelyingParty
    /// The clients that are registered with it, by their id.
    package let clients: [ClientID: SignInConfiguration.Client]
    /// What is configured of sign-ins there.
    package let rules: ServerRules
    /// The parameters of authorization requests that an app may send for any of the clients.
    package let requestParameters: Set<String>
    /// What the fixed parameters demand of sign-ins, of those clients that have such parameters.
    let fixedDemands: [ClientID: AuthenticationDemand]
    /// Whether only `state`, and the client's credential, ties a response to its request. Then the browser that began
    /// must come back, and no code of an app's own request is accepted.
    package let dependsOnState: Bool

    /// - Parameter clients: Of two with one id, the first counts.
    package init(
        _ relyingParty: RelyingParty, clients: [SignInConfiguration.Client], _ rules: ServerRules = ServerRules()
    ) {
        self.relyingParty = relyingParty
        self.rules = rules
        self.clients = Dictionary(
            clients.map { client in (client.id, altered(client) { $0.rules.add(rules.parameters) }) },
            uniquingKeysWith: { first, _ in first })
        dependsOnState = rules.pkce == .off && rules.nonce == .off
        requestParameters = Set(self.clients.values.flatMap(\.rules.parameters.fromApps))
        fixedDemands = self.clients.compactMapValues { AuthenticationDemand(fixed: $0.rules.parameters.fixed) }
    }

    /// The client of an id; without an id, the only client.
    package func client(_ id: ClientID?) -> SignInConfiguration.Client? {
        id.map { clients[$0] } ?? (clients.count == 1 ? clients.values.first : nil)
    }
}

/// What the configuration says of sign-ins at a provider. `docs/configuration.md` says which kinds have which setting.
public struct ServerRules: Sendable, Hashable {
    /// The extensions of the protocols that are used.
    public var extensions = ProtocolExtensions()
    /// How requests to a provider without ID tokens are written.
    public var dialect = OAuthDialect.standard
    /// The values of `typ` that ID tokens may have.
    public var idTokenTypes = IDTokenType.standard
    /// The `response_mode` of authorization requests.
    public var responseMode = AuthorizationResponseMode.query
    /// The parameters of authorization requests, for all clients.
    public var parameters = AuthorizationParameters()
    /// Whether requests have a code challenge (RFC 7636).
    public var pkce = PKCE.required
    /// Whether every authorization response must name its issuer (RFC 9207 section 2.4), whatever the metadata says;
    /// nil if it must where the metadata promises it. One that is named must be right in any case.
    public var requiresIssuer: Bool?
    /// Whether its access and refresh tokens are stored, encrypted with ``SignInConfiguration/vaultKeys``.
    public var storesTokens = false
    /// The resources that are fetched with a user's tokens, by their name in paths.
    public var resources: [String: EndpointURL] = [:]
    /// Where users' attributes are.
    public var userMembers = UserMembers()
    /// The client whose sign-ins a third party may initiate (OpenID Connect Core section 4); nil if none may.
    public var loginInitiationClient: ClientID?
    /// How the provider delivers the tokens of backchannel authentications (CIBA Core section 5), as the clients'
    /// registrations say.
    public var backchannelTokenDelivery = BackchannelTokenDeliverySetting.off
    /// Whether each backchannel authentication must have a text that the user compares on both devices (FAPI-CIBA
    /// section 5.2.2).
    public var requiresBindingMessage = false
    /// Whether the provider may end sessions (OpenID Connect Back-Channel Logout).
    public var endsSessions = true
    /// Whether logout at the provider names the provider's session by the ID token of the sign-in (`id_token_hint`,
    /// OpenID Connect RP-Initiated Logout section 2), which is kept with the session, encrypted.
    public var keepsIDTokens = true

    /// Where the issuer's metadata is, if it is not at the issuer.
    public var metadataURL: EndpointURL?
    /// Endpoints that are configured, by their names in metadata.
    public var endpoints: [String: EndpointURL] = [:]
    /// The issuers of the provider's tenants; nil for a provider with one issuer.
    public var tenants: TenantIssuers?
    /// The audiences that ID tokens may have beside the client.
    public var trustedAudiences: [ClientID] = []
    /// Whether requests have a nonce, which ID tokens repeat; ``Nonce/off`` for a provider without ID tokens and PKCE.
    public var nonce = Nonce.required
    /// Whether the administrator accepts sign-ins that `state` alone ties to their browser.
    public var acceptsStateAlone = false
    /// The parameters of logout requests in place of the usual ones, by name.
    public var logoutParameters: [String: String] = [:]

    /// Whether a nonce ties ID tokens to their requests.
    public enum Nonce: String, Sendable, CaseIterable {
        /// Each request has one.
        case required
        /// No request has one, for a provider that ignores or refuses it.
        case off
    }

    /// Whether a code verifier ties codes to their requests.
    public enum PKCE: String, Sendable, CaseIterable {
        /// Each code has one.
        case required
        /// As ``required``. A client that says nothing else accepts an app's own request without one.
        case optional
        /// No code has one, for a provider that refuses the challenge.
        case off
    }

    /// The defaults.
    public init() {}
}

/// Parameters of authorization requests besides those of the protocols, as providers demand or offer them.
public struct AuthorizationParameters: Sendable, Hashable {
    /// Their values by name.
    public var fixed: [String: String] = [:]
    /// The names of those that an app may send with the start of a sign-in.
    public var fromApps: [String] = []

    /// None.
    public init() {}
}

extension AuthenticationDemand {
    /// - Returns: Nil if none of the parameters demands how the user is authenticated.
    package init?(fixed: [String: String]) {
        func words(_ name: String) -> [String] { fixed[name]?.split(ascii: " ").map(String.init) ?? [] }
        self.init()
        acrValues = words("acr_values")
        prompt = words("prompt").compactMap(Prompt.init)
        maximumAge = fixed["max_age"].flatMap { Int64($0) }
        if acrValues.isEmpty, prompt.isEmpty, maximumAge == nil { return nil }
    }

    /// Demands also what the configuration demands, of which an app may only narrow the levels and shorten the age. If
    /// none of the app's levels is the configuration's, they are replaced: this server writes the request.
    package mutating func complete(with fixed: AuthenticationDemand) {
        let narrowed = acrValues.filter(fixed.acrValues.contains)
        if !fixed.acrValues.isEmpty { acrValues = narrowed.isEmpty ? fixed.acrValues : narrowed }
        if prompt.isEmpty || fixed.prompt.contains(.login) && !prompt.contains(.login) { prompt = fixed.prompt }
        if let longest = fixed.maximumAge { maximumAge = min(maximumAge ?? longest, longest) }
    }
}

/// Says who the user of a request is, in a feature's own way.
package protocol RequestVerifier: Sendable {
    /// Refuses a request that it does not take.
    func check(_ request: SignInRequest) throws(SignInError)

    /// Says who the user is, by the code or the token of a request.
    func verifyUser(of run: SignInRun, at provider: ProviderMetadata) async throws(SignInError) -> VerifiedSignIn

    /// Whether the request uses something up in the store, which then refuses a second one. Such requests are not kept
    /// among the recent ones.
    var isForOneUse: Bool { get }
}

extension RequestVerifier {
    package var isForOneUse: Bool { false }
}

/// Several authorization servers behind one provider, of a kind that a feature brings, such as mobile operators.
///
/// The feature chooses among them, asks them in its own way who a user is, and may send browsers to them for tasks of
/// its own.
package protocol ServerGroup: RequestVerifier {
    var kind: ProviderKind { get }
    /// Those that sign users in, by their names in requests. The only one of a provider may have the empty name.
    var servers: [String: AuthorizationServer] { get }
    /// Others that are asked, by their names in references.
    var otherParties: [String: RelyingParty] { get }

    /// The server that a start by redirects is with. The start becomes what this server is asked for.
    /// - Throws: What is wrong with the start, or why no server can be chosen.
    func choose(
        for start: inout RedirectStart, _ correlationID: CorrelationID, in environment: Environment
    ) async throws(SignInError) -> SignInTarget

    /// The error of an authorization response.
    func refusal(atAuthorization code: String) -> SignInError

    /// A pushed authorization request was refused.
    func refusal(ofPushedRequest error: OIDCError) -> SignInError

    /// Of the tasks that browsers are sent away for, as observers of failures know them.
    var taskFlow: FailedOperation.Flow { get }

    /// The query parameters that name a task to its frontend.
    func parameters(ofTask id: Secret) -> [(name: String, value: String)]

    /// Ends a task.
    /// - Parameter request: With the code that the browser brought, or what is wrong with the authorization response.
    /// - Returns: The query parameters that the frontend gets besides ``parameters(ofTask:)``.
    func finish(
        task id: Secret, with request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID,
        in environment: Environment
    ) async throws(SignInError) -> [(name: String, value: String)]

    /// Logs that a task has failed.
    func log(_ error: SignInError, ofTask correlationID: CorrelationID, in environment: Environment)
}
