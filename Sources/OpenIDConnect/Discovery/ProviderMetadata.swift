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
    /// Where the signing keys are; nil for a provider without ID tokens.
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
    /// Where requests with a client certificate go (RFC 8705 section 5).
    public let mutualTLSAliases: EndpointAliases

    /// The endpoints of a provider without ID tokens.
    init(issuer: String, authorizationEndpoint: EndpointURL, tokenEndpoint: EndpointURL, userEndpoint: UserEndpoint) {
        self.issuer = issuer
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
        self.userEndpoint = userEndpoint
        (userInfoEndpoint, jwksURI, serverInitiatedAuthorizationEndpoint) = (nil, nil, nil)
        (pushedAuthorizationRequestEndpoint, endSessionEndpoint, backchannelAuthentication) = (nil, nil, nil)
        (demands, signingAlgorithms, mutualTLSAliases, namesIssuerInResponses) = (.none, [], .none, false)
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
        userInfoEndpoint = try reader.optionalEndpoint("userinfo_endpoint")
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
        mutualTLSAliases = EndpointAliases(reader)
        userEndpoint = nil
        if authorizationEndpoint != nil { try reader.checkList("response_types_supported", includes: "code") }
        if let network { try reader.checkNetwork(network) }
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
                && left.mutualTLSAliases == right.mutualTLSAliases
    }

    /// Feeds the issuer and the token endpoint to the hasher: few providers have both in common.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(issuer)
        hasher.combine(tokenEndpoint)
    }
}

extension ProviderMetadata {
    /// Whether the provider issues ID tokens; otherwise ``userEndpoint`` names the user.
    var hasIDTokens: Bool { userEndpoint == nil }

    /// Which URLs metadata may contain.
    struct Requirements: Sendable {
        let urlPolicy: EndpointURL.Policy
        let trustedHosts: TrustedHosts
        /// Of which the provider must sign with one.
        let signingAlgorithms: Set<SigningAlgorithm>
    }
}

extension ProviderMetadata {
    /// The token endpoint for requests that present a certificate, or nothing.
    /// - Throws: ``OIDCError/Code/metadataRefused``, as for the other two.
    func tokenEndpoint(presenting clientTLS: ClientTLS?) throws(OIDCError) -> EndpointURL {
        try mutualTLSAliases.endpoint(.token, insteadOf: tokenEndpoint, presenting: clientTLS)
    }

    /// The same for userinfo; nil if the provider has none.
    func userInfoEndpoint(presenting clientTLS: ClientTLS?) throws(OIDCError) -> EndpointURL? {
        guard let userInfoEndpoint else { return nil }
        return try mutualTLSAliases.endpoint(.userInfo, insteadOf: userInfoEndpoint, presenting: clientTLS)
    }

    /// Where browsers are sent to sign in.
    /// - Throws: ``OIDCError/Code/metadataRefused`` if there is no such endpoint.
    package func endpointForBrowsers() throws(OIDCError) -> EndpointURL {
        guard let authorizationEndpoint else {
            throw OIDCError(
                .metadataRefused,
                reason: "The provider has no authorization_endpoint, so that no browser can sign in there.")
        }
        return authorizationEndpoint
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

extension RelyingParty.Configuration {
    /// What metadata must satisfy.
    var metadataRequirements: ProviderMetadata.Requirements {
        .init(urlPolicy: urlPolicy, trustedHosts: trustedHosts, signingAlgorithms: signingAlgorithms)
    }
}
