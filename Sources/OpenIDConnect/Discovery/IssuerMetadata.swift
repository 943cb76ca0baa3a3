import Primitives

/// The part of an issuer's OpenID configuration (OpenID Connect Discovery 1.0 section 3) that verifies others' words
/// about it: the signatures of its port tokens, and the metadata that networks have for it.
struct IssuerMetadata: Sendable, Hashable {
    let issuer: String
    let jwksURI: EndpointURL
    /// The host of the token endpoint, with the port if it is not the usual one; nil if there is no acceptable one.
    let tokenHost: String?
    /// The hosts of the issuer, its keys and all its acceptable endpoints.
    let hosts: Set<String>

    /// - Throws: ``OIDCError/Code/metadataRefused`` if the document names another issuer (Discovery section 4.3), or
    ///   its keys are on a host that is not trusted. Port tokens need no endpoints, so unacceptable ones are left out.
    init(
        _ document: JSONObject, issuer expected: EndpointURL, requirements: ProviderMetadata.Requirements
    ) throws(OIDCError) {
        let reader = MetadataReader(document: document, requirements: requirements)
        issuer = try reader.issuer()
        guard issuer.hasSameBytes(as: expected.text) else {
            throw OIDCError(.metadataRefused, reason: "The issuer's metadata names another issuer than the one asked.")
        }
        jwksURI = try reader.endpoint("jwks_uri")
        let token = try? reader.endpoint("token_endpoint")
        let others: [EndpointURL?] = [
            try? reader.endpoint("authorization_endpoint"), try? reader.endpoint("userinfo_endpoint"),
            try? reader.endpoint("server_initiated_authorization_endpoint"),
            try? reader.endpoint("pushed_authorization_request_endpoint"),
        ]
        tokenHost = token?.authority
        let endpoints = ([expected, jwksURI, token] + others).compactMap(\.self) + EndpointAliases(reader).endpoints
        hosts = Set(endpoints.map(\.authority))
    }
}
