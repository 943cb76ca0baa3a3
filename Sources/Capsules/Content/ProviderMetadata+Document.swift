package import OpenIDConnect
package import Primitives

extension ProviderMetadata {
    /// The metadata as a discovery document (OpenID Connect Discovery section 3) with the fields that are read, in a
    /// fixed order: read again, it is the same metadata. Nil for a provider without ID tokens, which has none.
    package var document: [(name: String, value: JSONValue?)]? {
        guard let jwksURI else { return nil }
        return [
            ("issuer", .string(issuer)), ("authorization_endpoint", Self.url(authorizationEndpoint)),
            ("token_endpoint", Self.url(tokenEndpoint)), ("userinfo_endpoint", Self.url(userInfoEndpoint)),
            ("jwks_uri", Self.url(jwksURI)),
            ("server_initiated_authorization_endpoint", Self.url(serverInitiatedAuthorizationEndpoint)),
            ("pushed_authorization_request_endpoint", Self.url(pushedAuthorizationRequestEndpoint)),
            ("end_session_endpoint", Self.url(endSessionEndpoint)),
            ("id_token_signing_alg_values_supported", Self.list(signingAlgorithms)),
            ("token_endpoint_auth_methods_supported", Self.list(clientAuthenticationMethods)),
            ("token_endpoint_auth_signing_alg_values_supported", Self.list(assertionAlgorithms)),
            ("request_object_signing_alg_values_supported", Self.list(requestObjectAlgorithms)),
            ("grant_types_supported", Self.list(grantTypes)),
            ("authorization_response_iss_parameter_supported", Self.flag(namesIssuerInResponses)),
        ] + backchannelMembers + demands.document + [("mtls_endpoint_aliases", mutualTLSAliases.document)]
    }

    private var backchannelMembers: [(name: String, value: JSONValue?)] {
        guard let backchannel = backchannelAuthentication else { return [] }
        return [
            ("backchannel_authentication_endpoint", Self.url(backchannel.endpoint)),
            ("backchannel_token_delivery_modes_supported", Self.list(backchannel.deliveryModes)),
            (
                "backchannel_authentication_request_signing_alg_values_supported",
                Self.list(backchannel.signingAlgorithms)
            ), ("backchannel_user_code_parameter_supported", Self.flag(backchannel.acceptsUserCode)),
        ]
    }

    private static func url(_ url: EndpointURL?) -> JSONValue? { url.map { .string($0.text) } }

    fileprivate static func list(_ values: Set<some RawRepresentable<String>>?) -> JSONValue? {
        values.map { .texts($0.map(\.rawValue).sorted()) }
    }

    /// False is left out, as most providers do.
    fileprivate static func flag(_ flag: Bool) -> JSONValue? { flag ? .bool(true) : nil }
}

extension ProviderDemands {
    fileprivate var document: [(name: String, value: JSONValue?)] {
        [
            ("require_pushed_authorization_requests", ProviderMetadata.flag(pushedRequests)),
            ("require_signed_request_object", ProviderMetadata.flag(signedRequestObjects)),
            ("dpop_bound_access_tokens", ProviderMetadata.flag(dpopBoundTokens)),
            ("dpop_signing_alg_values_supported", ProviderMetadata.list(dpopAlgorithms)),
            ("camara_dpop_claims_required", dpopClaims.isEmpty ? nil : ProviderMetadata.list(dpopClaims)),
            ("tls_client_certificate_bound_access_tokens", ProviderMetadata.flag(certificateBoundTokens)),
            ("response_modes_supported", ProviderMetadata.list(responseModes)),
            ("authorization_signing_alg_values_supported", ProviderMetadata.list(responseAlgorithms)),
            ("id_token_encryption_alg_values_supported", ProviderMetadata.list(idTokenEncryption.algorithms)),
            ("id_token_encryption_enc_values_supported", ProviderMetadata.list(idTokenEncryption.encryptions)),
            ("userinfo_encryption_alg_values_supported", ProviderMetadata.list(userInfoEncryption.algorithms)),
            ("userinfo_encryption_enc_values_supported", ProviderMetadata.list(userInfoEncryption.encryptions)),
            ("code_challenge_methods_supported", acceptsS256 ? nil : .texts(["plain"])),
        ]
    }
}

extension EndpointAliases {
    /// Nil without aliases. One that is not acceptable is an empty text.
    fileprivate var document: JSONValue? {
        guard self != .none else { return nil }
        return .object(
            of: Name.allCases.map { name in
                switch aliases[name] {
                case nil: (name.rawValue, nil)
                case .endpoint(let url): (name.rawValue, .string(url.text))
                case .refused: (name.rawValue, "")
                }
            })
    }
}
