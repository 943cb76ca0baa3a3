import Primitives

/// A carrier's OpenID configuration (OpenID Connect Discovery section 3, RFC 8414 section 2).
enum ProviderMetadata {
    static let acrValues = ["a1", "a3"]

    /// The document with the carrier's present faults.
    static func document(of site: CarrierSite) -> JSONMembers {
        if let standIn = site.carrier.standIn { return document(of: site, standIn) }
        let isCarrier = site.carrier.isCarrier
        typealias Encryption = CarrierSimulator.Client.ResponseEncryption
        let keyManagement = JSONValue.texts(Encryption.KeyManagement.allCases.map(\.rawValue))
        let content = JSONValue.texts(Encryption.Content.allCases.map(\.rawValue))
        var document: JSONMembers = [
            "issuer": .string(site.issuer),
            "authorization_endpoint": .string(site.authorizationEndpoint),
            "token_endpoint": .string(site.tokenEndpoint),
            "userinfo_endpoint": .string(site.issuer + "/userinfo"),
            "jwks_uri": .string(site.issuer + "/jwks"),
            "scopes_supported": .texts(Scopes.names),
            "response_types_supported": isCarrier ? ["code", "async_token"] : ["code"],
            "response_modes_supported": ["query", "form_post", "jwt", "query.jwt", "form_post.jwt"],
            "authorization_signing_alg_values_supported": [.string(site.carrier.signingAlgorithm.rawValue)],
            "request_parameter_supported": true,
            "request_object_signing_alg_values_supported": ["RS256", "PS256", "ES256", "EdDSA"],
            "require_signed_request_object": .bool(site.has(.requestObjectRequired)),
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": [.string(site.carrier.signingAlgorithm.rawValue)],
            "id_token_encryption_alg_values_supported": keyManagement,
            "id_token_encryption_enc_values_supported": content,
            "userinfo_encryption_alg_values_supported": keyManagement,
            "userinfo_encryption_enc_values_supported": content,
            "token_endpoint_auth_methods_supported": .texts(site.carrier.authenticationMethods),
            "token_endpoint_auth_signing_alg_values_supported": ["RS256", "PS256", "ES256", "EdDSA"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "pushed_authorization_request_endpoint": .string(site.pushedAuthorizationEndpoint),
            "require_pushed_authorization_requests": .bool(site.has(.parRequired)),
        ]
        if site.supportsDPoP { document["dpop_signing_alg_values_supported"] = ["ES256"] }
        if site.carrier.bindsTokensToCertificates { document["tls_client_certificate_bound_access_tokens"] = true }
        if site.has(.dpopRequired) { document["dpop_bound_access_tokens"] = true }
        if isCarrier {
            document["server_initiated_authorization_endpoint"] = .string(site.issuer + "/server-initiated")
            document["acr_values_supported"] = .texts(acrValues)
            // A number, as carriers send it: the reader must restore leading zeros.
            document["mccmnc"] = Int64(site.mccmnc).map { .integer($0) } ?? .string(site.mccmnc)
        } else {
            document["end_session_endpoint"] = .string(site.issuer + "/logout")
            document["backchannel_logout_supported"] = true
            document["backchannel_logout_session_supported"] = true
        }
        if site.hasBackchannelAuthentication {
            document["grant_types_supported"] = ["authorization_code", "refresh_token", .string(TokenEndpoint.ciba)]
            document["backchannel_authentication_endpoint"] = .string(site.backchannelEndpoint)
            document["backchannel_token_delivery_modes_supported"] = ["poll", "ping"]
            document["backchannel_authentication_request_signing_alg_values_supported"] = ["PS256", "ES256", "EdDSA"]
            document["backchannel_user_code_parameter_supported"] = true
        }
        if let aliasBase = site.aliasBase {
            // RFC 8705 section 5.
            let names = ["token", "userinfo", "pushed_authorization_request", "backchannel_authentication"]
            document["mtls_endpoint_aliases"] = .object(
                of: names.map { name in
                    let endpoint = document[name + "_endpoint"]?.string
                    return (name + "_endpoint", endpoint.map { .string(aliasBase + $0.dropFirst(site.base.count)) })
                })
        }
        if let profile = site.carrier.operatorProfile { change(&document, of: site, profile) }
        if site.has(.discoveryMissingFields) {
            document["token_endpoint"] = nil
            document["jwks_uri"] = nil
        }
        if site.has(.discoveryNoBackchannel) { document["server_initiated_authorization_endpoint"] = nil }
        if site.has(.discoveryNoPAR) { document["pushed_authorization_request_endpoint"] = nil }
        if site.has(.discoveryOtherIssuer) { document["issuer"] = "https://example.org/" }
        if site.has(.discoveryRelativeURLs) {
            document["token_endpoint"] = "token"
            document["jwks_uri"] = "/jwks"
            document["userinfo_endpoint"] = "//userinfo"
        }
        if site.has(.discoveryBareGrantType) { document["grant_types_supported"] = "authorization_code" }
        return document
    }
}
