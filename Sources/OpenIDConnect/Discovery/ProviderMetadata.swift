public import Primitives

/// A provider's OpenID configuration (OpenID Connect Discovery 1.0 section 3), as far as a sign-in needs it; for a
/// provider without ID tokens, what was configured in its place.
///
/// It is checked: the issuer and every endpoint are on trusted hosts, and the provider supports what a sign-in needs.
///
/// A class, because it is large and every sign-in takes it from a cache.
public final class ProviderMetadata: Sendable {
    /// As the provider spells it. An ID token's `iss` must be the same, byte for byte.
    public let issuer: String
    /// Where browsers are sent to sign in; nil if the provider signs users in without browsers only.
    public let authorizationEndpoint: EndpointURL?
    /// Where codes are exchanged for tokens.
    public let tokenEndpoint: EndpointURL
    /// Where a user's attributes are; nil if the provider has none.
    public let userInfoEndpoint: EndpointURL?
    /// Where the signing keys are; nil for a provider without any ID tokens.
    public let jwksURI: EndpointURL?
    /// The endpoint that names the user; nil for a provider with ID tokens.
    public let userEndpoint: UserEndpoint?
    /// ZenKey's server-initiated authorization endpoint; nil if the carrier has none.
    public let serverInitiatedAuthorizationEndpoint: EndpointURL?
    /// Backchannel authentication (CIBA Core section 4); nil if the provider does not support it.
    public let backchannelAuthentication: BackchannelAuthenticationMetadata?
    /// Where authorization requests are pushed (RFC 9126 section 5); nil if the provider has no such endpoint, or not
    /// on a trusted host.
    public let pushedAuthorizationRequestEndpoint: EndpointURL?
    /// What the provider demands of authorization requests and clients.
    public let demands: ProviderDemands
    /// The supported algorithms that the provider signs with.
    public let signingAlgorithms: Set<SigningAlgorithm>
    /// The client authentication methods that the provider lists and this module supports. Nil without a list, which by
    /// Discovery section 3 means `client_secret_basic`; but providers that accept others leave the list out, too.
    public let clientAuthenticationMethods: Set<ClientAuthenticationMethod>?
    /// The algorithms for client assertions that the provider lists and this module supports; nil without a list.
    public let assertionAlgorithms: Set<SigningAlgorithm>?
    /// The algorithms of request objects that the provider lists and this module supports; nil without a list.
    public let requestObjectAlgorithms: Set<SigningAlgorithm>?
    /// The grant types that the provider lists and this module supports; nil without a list.
    public let grantTypes: Set<GrantType>?
    /// Whether every authorization response names its issuer (RFC 9207 section 3).
    public let namesIssuerInResponses: Bool
    /// Where browsers are sent to end their session with the provider (RP-Initiated Logout section 2.1).
    public let endSessionEndpoint: EndpointURL?
    /// Where tokens are revoked (RFC 7009); nil if the provider has no such endpoint.
    package let revocationEndpoint: EndpointURL?
    /// Where requests with a client certificate go (RFC 8705 section 5).
    public let mutualTLSAliases: EndpointAliases

    /// What is configured: the endpoints of a provider without ID tokens, or the keys of one whose ID tokens apps
    /// bring.
    init(
        issuer: String, authorizationEndpoint: EndpointURL?, tokenEndpoint: EndpointURL, userEndpoint: UserEndpoint?,
        jwksURI: EndpointURL? = nil, signingAlgorithms: Set<SigningAlgorithm> = []
    ) {
        self.issuer = issuer
        self.jwksURI = jwksURI
        self.signingAlgorithms = signingAlgorithms
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
        self.userEndpoint = userEndpoint
        (userInfoEndpoint, serverInitiatedAuthorizationEndpoint) = (nil, nil)
        (pushedAuthorizationRequestEndpoint, endSessionEndpoint, backchannelAuthentication) = (nil, nil, nil)
        revocationEndpoint = nil
        (demands, mutualTLSAliases, namesIssuerInResponses) = (.none, .none, false)
        (clientAuthenticationMethods, assertionAlgorithms, requestObjectAlgorithms, grantTypes) = (nil, nil, nil, nil)
    }

    /// Reads a discovery document (OpenID Connect Discovery 1.0 section 3).
    ///
    /// - Parameter network: The network asked about, if any. A document that names a network must name this one.
    /// - Throws: ``OIDCError/Code/metadataRefused`` with the name of the field that is missing or not acceptable.
    init(_ document: JSONObject, network: MCCMNC?, requirements: Requirements) throws(OIDCError) {
        let reader = MetadataReader(document: document, requirements: requirements)
        issuer = try reader.issuer()
        authorizationEndpoint = try reader.authorizationEndpoint()
        tokenEndpoint = try reader.endpoint("token_endpoint")
        // An OpenID provider's ID tokens have the attributes, too: a bad one does not keep users from signing in.
        userInfoEndpoint =
            try network == nil
            ? (try? reader.optionalEndpoint("userinfo_endpoint")) : reader.optionalEndpoint("userinfo_endpoint")
        jwksURI = try reader.endpoint("jwks_uri")
        serverInitiatedAuthorizationEndpoint = try reader.optionalEndpoint(
            "server_initiated_authorization_endpoint")
        // Carriers have ZenKey's server-initiated authorization instead.
        backchannelAuthentication = network == nil ? BackchannelAuthenticationMetadata(reader) : nil
        // Only sign-ins by redirects need it, so a bad one does not keep other users from signing in.
        pushedAuthorizationRequestEndpoint = try? reader.optionalEndpoint("pushed_authorization_request_endpoint")
        demands = ProviderDemands(reader)
        signingAlgorithms = try reader.signingAlgorithms()
        clientAuthenticationMethods = try reader.known("token_endpoint_auth_methods_supported")
        assertionAlgorithms = try reader.known("token_endpoint_auth_signing_alg_values_supported")
        // Only signed requests need it, so a bad one does not keep users from signing in.
        requestObjectAlgorithms = try? reader.known("request_object_signing_alg_values_supported")
        // Only some sign-ins depend on it, so a bad one does not keep other users from signing in.
        grantTypes = try? reader.known("grant_types_supported")
        namesIssuerInResponses = reader.flag("authorization_response_iss_parameter_supported")
        // Only logout needs it, so a bad one does not keep users from signing in. Carriers have no such logout.
        endSessionEndpoint = network == nil ? (try? reader.optionalEndpoint("end_session_endpoint")) : nil
        revocationEndpoint = try? reader.optionalEndpoint("revocation_endpoint")
        mutualTLSAliases = EndpointAliases(reader)
        userEndpoint = nil
        // Metadata without a token endpoint, such as Facebook's, has no response type that needs one.
        if authorizationEndpoint != nil, requirements.endpoints["token_endpoint"] == nil {
            try reader.checkList("response_types_supported", includes: "code")
        }
        if let network { try reader.checkNetwork(network) }
    }

    /// Whether the provider issues ID tokens; otherwise ``userEndpoint`` names the user.
    var hasIDTokens: Bool { userEndpoint == nil }

    /// Which URLs metadata may contain.
    struct Requirements: Sendable {
        let urlPolicy: EndpointURL.Policy
        let trustedHosts: TrustedHosts
        /// Of which the provider must sign with one.
        let signingAlgorithms: Set<SigningAlgorithm>
        /// The configured endpoints, which win over those of the document, by their names there.
        let endpoints: [String: EndpointURL]
        /// The issuers of the tenants, if the provider has several.
        let tenants: TenantIssuers?

        /// Whether all that a sign-in needs is configured, so that the provider need not publish metadata.
        var sufficeWithoutMetadata: Bool {
            ["authorization_endpoint", "token_endpoint", "jwks_uri"].allSatisfy { endpoints[$0] != nil }
        }
    }

    /// Where requests are pushed.
    /// - Throws: ``OIDCError/Code/metadataRefused``, also if there is no such endpoint.
    package func endpointForPushedRequests(
        presenting clientTLS: ClientTLS? = nil
    ) throws(OIDCError) -> EndpointURL {
        guard let endpoint = pushedAuthorizationRequestEndpoint else {
            throw MetadataReader.refused("pushed_authorization_request_endpoint")
        }
        return try mutualTLSAliases.endpoint(.pushedAuthorizationRequest, insteadOf: endpoint, presenting: clientTLS)
    }
}

extension ProviderMetadata: Hashable {
    /// Compares the contents.
    public static func == (left: ProviderMetadata, right: ProviderMetadata) -> Bool {
        left === right
            || left.issuer == right.issuer && left.authorizationEndpoint == right.authorizationEndpoint
                && left.tokenEndpoint == right.tokenEndpoint && left.userInfoEndpoint == right.userInfoEndpoint
                && left.jwksURI == right.jwksURI && left.userEndpoint == right.userEndpoint
                && left.serverInitiatedAuthorizationEndpoint == right.serverInitiatedAuthorizationEndpoint
                && left.backchannelAuthentication == right.backchannelAuthentication
                && left.pushedAuthorizationRequestEndpoint == right.pushedAuthorizationRequestEndpoint
                && left.demands == right.demands && left.signingAlgorithms == right.signingAlgorithms
                && left.clientAuthenticationMethods == right.clientAuthenticationMethods
                && left.assertionAlgorithms == right.assertionAlgorithms
                && left.requestObjectAlgorithms == right.requestObjectAlgorithms
                && left.grantTypes == right.grantTypes
                && left.namesIssuerInResponses == right.namesIssuerInResponses
                && left.endSessionEndpoint == right.endSessionEndpoint
                && left.revocationEndpoint == right.revocationEndpoint
                && left.mutualTLSAliases == right.mutualTLSAliases
    }

    /// Feeds the issuer and the token endpoint to the hasher: few providers have both in common.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(issuer)
        hasher.combine(tokenEndpoint)
    }
}

/// What a provider's metadata demands of authorization requests and clients.
///
/// ``pushedRequests``, ``signedRequestObjects``, ``dpopBoundTokens`` and ``dpopClaims`` are met. The others are for the
/// administrator: a sign-in that the provider refuses because of one of them fails at the provider.
public struct ProviderDemands: Sendable, Hashable {
    /// Authorization requests must be pushed: `require_pushed_authorization_requests` (RFC 9126 section 5).
    public private(set) var pushedRequests = false
    /// Authorization requests must be signed: `require_signed_request_object` (RFC 9101 section 10.5).
    public private(set) var signedRequestObjects = false
    /// Access tokens are bound to a key of the client: `dpop_bound_access_tokens` (RFC 9449 section 5.2), which some
    /// providers publish for all their clients.
    public private(set) var dpopBoundTokens = false
    /// The supported algorithms that DPoP proofs may be signed with: `dpop_signing_alg_values_supported` (RFC 9449
    /// section 5.1); nil without a list.
    public private(set) var dpopAlgorithms: Set<SigningAlgorithm>?
    /// The claims that DPoP proofs have beyond RFC 9449: `camara_dpop_claims_required` (CAMARA Security and
    /// Interoperability Profile r4.2). Those that this module does not know are left out.
    public private(set) var dpopClaims: Set<DPoPClaim> = []
    /// Access tokens can be bound to the client's certificate: `tls_client_certificate_bound_access_tokens` (RFC 8705
    /// section 3.3). It says that the provider can, not that it demands so of this client.
    public private(set) var certificateBoundTokens = false
    /// The response modes that the provider lists and this module supports; nil without a list.
    public private(set) var responseModes: Set<AuthorizationResponseMode>?
    /// What the provider can sign authorization responses with, as far as it lists algorithms that this module supports
    /// (JARM section 4).
    public private(set) var responseAlgorithms: Set<SigningAlgorithm>?
    /// What the provider can encrypt ID tokens with (OpenID Connect Discovery section 3).
    public private(set) var idTokenEncryption = EncryptionSupport()
    /// What the provider can encrypt userinfo responses with.
    public private(set) var userInfoEncryption = EncryptionSupport()
    /// Whether the provider accepts S256 code challenges, as far as it lists methods (RFC 8414 section 2).
    public private(set) var acceptsS256 = true

    /// Of a provider without metadata.
    static let none = ProviderDemands()
}

extension ProviderDemands {
    /// A malformed list counts as none, because no sign-in depends on it.
    init(_ reader: MetadataReader) {
        self.init(
            pushedRequests: reader.flag("require_pushed_authorization_requests"),
            signedRequestObjects: reader.flag("require_signed_request_object"),
            dpopBoundTokens: reader.flag("dpop_bound_access_tokens"),
            dpopAlgorithms: try? reader.known("dpop_signing_alg_values_supported"),
            dpopClaims: (try? reader.known("camara_dpop_claims_required")) ?? [],
            certificateBoundTokens: reader.flag("tls_client_certificate_bound_access_tokens"),
            responseModes: try? reader.known("response_modes_supported"),
            responseAlgorithms: try? reader.known("authorization_signing_alg_values_supported"),
            idTokenEncryption: EncryptionSupport(of: "id_token", reader),
            userInfoEncryption: EncryptionSupport(of: "userinfo", reader),
            acceptsS256: reader.mayList("S256", in: "code_challenge_methods_supported"))
    }
}

/// Where a provider takes requests with a client certificate instead of the usual endpoints: `mtls_endpoint_aliases`
/// (RFC 8705 section 5).
public struct EndpointAliases: Sendable, Hashable {
    /// The raw value is the name of the usual endpoint and of its alias.
    package enum Name: String, Sendable, CaseIterable {
        case token = "token_endpoint"
        case userInfo = "userinfo_endpoint"
        case pushedAuthorizationRequest = "pushed_authorization_request_endpoint"
        case backchannelAuthentication = "backchannel_authentication_endpoint"
    }

    package enum Alias: Sendable, Hashable {
        case endpoint(EndpointURL)
        /// Not acceptable. The usual endpoint need not ask for a certificate.
        case refused
    }

    /// A usual endpoint without an alias takes such requests itself.
    package internal(set) var aliases: [Name: Alias] = [:]

    /// The endpoints, which receive codes and tokens as the usual ones do.
    var endpoints: [EndpointURL] {
        Name.allCases.compactMap { name in
            guard case .endpoint(let url) = aliases[name] else { return nil }
            return url
        }
    }

    /// Of a provider without aliases.
    package static let none = EndpointAliases()

    /// Where a request goes.
    /// - Parameter usual: Where it goes without a certificate.
    /// - Throws: ``OIDCError/Code/metadataRefused``.
    func endpoint(
        _ name: Name, insteadOf usual: EndpointURL, presenting clientTLS: ClientTLS?
    ) throws(OIDCError) -> EndpointURL {
        guard clientTLS != nil, let alias = aliases[name] else { return usual }
        guard case .endpoint(let url) = alias else {
            throw MetadataReader.refused("mtls_endpoint_aliases.\(name.rawValue)")
        }
        return url
    }
}

extension EndpointAliases {
    /// Only clients with a certificate need it, so a bad one does not keep other users from signing in.
    init(_ reader: MetadataReader) {
        guard let value = reader.document["mtls_endpoint_aliases"], !value.isNull else { return }
        for name in Name.allCases {
            do throws(OIDCError) {
                guard let object = value.object else { throw MetadataReader.refused(name.rawValue) }
                let reader = MetadataReader(document: object, requirements: reader.requirements)
                aliases[name] = try reader.optionalEndpoint(name.rawValue).map(Alias.endpoint)
            } catch {
                aliases[name] = .refused
            }
        }
    }
}
