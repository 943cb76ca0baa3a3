import Primitives

/// An operator's OpenID configuration (OpenID Connect Discovery section 3, CIBA Core section 4).
enum OperatorMetadata {
    static func document(of site: CarrierSite, _ profile: CarrierSimulator.OperatorProfile) -> JSONMembers {
        var grantTypes = ["authorization_code"]
        if profile.acceptsJWTBearer { grantTypes.append(OperatorTokenEndpoint.jwtBearer) }
        if profile.acceptsBackchannel { grantTypes.append(TokenEndpoint.ciba) }
        if profile.acceptsClientCredentials { grantTypes.append("client_credentials") }
        var document = ProviderMetadata.document(of: site)
        for name in ["userinfo_endpoint", "pushed_authorization_request_endpoint", "end_session_endpoint"]
            + ["require_pushed_authorization_requests", "backchannel_logout_supported"]
            + ["backchannel_logout_session_supported", "authorization_signing_alg_values_supported"]
        { document[name] = nil }
        document["scopes_supported"] = .texts(OperatorScopes.known)
        document["response_modes_supported"] = ["query"]
        document["grant_types_supported"] = .texts(grantTypes)
        if !profile.demandedProofClaims.isEmpty {
            document["camara_dpop_claims_required"] = .texts(profile.demandedProofClaims)
        }
        if profile.acceptsBackchannel {
            document["backchannel_authentication_endpoint"] = .string(site.backchannelEndpoint)
            document["backchannel_token_delivery_modes_supported"] = ["poll"]
            document["backchannel_authentication_request_signing_alg_values_supported"] = ["RS256", "ES256"]
            document["backchannel_user_code_parameter_supported"] = false
        }
        return document
    }
}
