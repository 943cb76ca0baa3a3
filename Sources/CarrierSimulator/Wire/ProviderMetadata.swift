/// A carrier's OpenID configuration (OpenID Connect Discovery section 3, RFC 8414 section 2), in ZenKey's form, or a
/// provider's without what is ZenKey's.
struct ProviderMetadata: Sendable {
    let site: CarrierSite

    static let acrValues = ["a1", "a3"]

    /// The document as it is published under the carrier's present faults.
    var document: JSONMembers {
        var document: JSONMembers = [
            "issuer": .text(site.issuer),
            "authorization_endpoint": .text(site.authorizationEndpoint),
            "token_endpoint": .text(site.tokenEndpoint),
            "userinfo_endpoint": .text(site.userInfoEndpoint),
            "jwks_uri": .text(site.keysURL),
            "scopes_supported": .texts(Scopes.names),
            "server_initiated_authorization_endpoint": .text(site.backchannelAuthenticationEndpoint),
            "response_types_supported": ["code", "async_token"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": [.text(site.carrier.signingAlgorithm.rawValue)],
            "token_endpoint_auth_methods_supported": .texts(site.carrier.authenticationMethods),
            "token_endpoint_auth_signing_alg_values_supported": ["RS256", "ES256"],
            "code_challenge_methods_supported": ["S256"],
            "acr_values_supported": .texts(Self.acrValues),
            "authorization_response_iss_parameter_supported": true,
            // A number on the wire, so that a reader must put leading zeros back itself.
            "mccmnc": Int64(site.mccmnc).map(JSON.number) ?? .text(site.mccmnc),
        ]
        if !site.carrier.isCarrier {
            for name in ["server_initiated_authorization_endpoint", "acr_values_supported", "mccmnc"] {
                document[name] = nil
            }
            document["response_types_supported"] = ["code"]
            document["end_session_endpoint"] = .text(site.endSessionEndpoint)
            document["backchannel_logout_supported"] = true
            document["backchannel_logout_session_supported"] = true
        }
        for fault in site.carrier.faults { Self.spoil(&document, fault) }
        return document
    }

    private static func spoil(_ document: inout JSONMembers, _ fault: CarrierSimulator.Fault) {
        switch fault {
        case .discoveryMissingFields:
            document["token_endpoint"] = nil
            document["jwks_uri"] = nil
        case .discoveryNoBackchannel: document["server_initiated_authorization_endpoint"] = nil
        case .discoveryOtherIssuer: document["issuer"] = "https://example.org/"
        case .discoveryRelativeURLs:
            document["token_endpoint"] = "token"
            document["jwks_uri"] = "/jwks"
            document["userinfo_endpoint"] = "//userinfo"
        case .discoveryBareGrantType: document["grant_types_supported"] = "authorization_code"
        default: break
        }
    }
}
