import Primitives

extension ProviderMetadata {
    /// The endpoints of a provider without ID tokens.
    init(issuer: String, authorizationEndpoint: EndpointURL, tokenEndpoint: EndpointURL, userEndpoint: UserEndpoint) {
        self.init(
            issuer: issuer, authorizationEndpoint: authorizationEndpoint, tokenEndpoint: tokenEndpoint,
            userInfoEndpoint: nil, jwksURI: nil, userEndpoint: userEndpoint, backchannelAuthenticationEndpoint: nil,
            signingAlgorithms: [], clientAuthenticationMethods: nil, assertionAlgorithms: nil,
            namesIssuerInResponses: false, endSessionEndpoint: nil)
    }

    /// Which URLs metadata may contain.
    struct Requirements: Sendable {
        let urlPolicy: EndpointURL.Policy
        let trustedHosts: TrustedHosts
    }

    /// Reads a discovery document (OpenID Connect Discovery 1.0 section 3).
    ///
    /// - Parameter network: The network asked about, if any. A document that names a network must name this one.
    /// - Throws: ``OIDCError/Code/metadataRefused`` with the name of the field that is missing or not acceptable.
    init(_ document: JSONObject, network: MCCMNC?, requirements: Requirements) throws(OIDCError) {
        let reader = MetadataReader(document: document, requirements: requirements)
        issuer = try reader.issuer()
        authorizationEndpoint = try reader.endpoint("authorization_endpoint")
        tokenEndpoint = try reader.endpoint("token_endpoint")
        userInfoEndpoint = try reader.optionalEndpoint("userinfo_endpoint")
        jwksURI = try reader.endpoint("jwks_uri")
        userEndpoint = nil
        backchannelAuthenticationEndpoint = try reader.optionalEndpoint("server_initiated_authorization_endpoint")
        signingAlgorithms = try reader.signingAlgorithms()
        clientAuthenticationMethods = try reader.known("token_endpoint_auth_methods_supported")
        assertionAlgorithms = try reader.known("token_endpoint_auth_signing_alg_values_supported")
        namesIssuerInResponses = document["authorization_response_iss_parameter_supported"]?.bool ?? false
        // Only logout needs it, so a bad one does not keep users from signing in. Carriers have no such logout.
        endSessionEndpoint = network == nil ? (try? reader.optionalEndpoint("end_session_endpoint")) ?? nil : nil
        try reader.checkList("response_types_supported", includes: "code")
        if let network { try reader.checkNetwork(network) }
    }
}

extension RelyingParty.Configuration {
    /// What metadata must satisfy.
    var metadataRequirements: ProviderMetadata.Requirements {
        .init(urlPolicy: urlPolicy, trustedHosts: trustedHosts)
    }
}
