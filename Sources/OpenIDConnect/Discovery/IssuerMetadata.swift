import Primitives

/// The part of an issuer's OpenID configuration (OpenID Connect Discovery 1.0 section 3) that its signatures need.
struct IssuerMetadata: Sendable, Hashable {
    let issuer: String
    let jwksURI: EndpointURL

    /// - Throws: ``OIDCError/Code/metadataRefused`` if the document names another issuer (Discovery section 4.3), or
    ///   its keys are on a host that is not trusted.
    init(
        _ document: JSONObject, issuer expected: String, requirements: ProviderMetadata.Requirements
    ) throws(OIDCError) {
        let reader = MetadataReader(document: document, requirements: requirements)
        issuer = try reader.issuer()
        guard issuer.hasSameBytes(as: expected) else {
            throw OIDCError(.metadataRefused, reason: "The issuer's metadata names another issuer than the one asked.")
        }
        jwksURI = try reader.endpoint("jwks_uri")
    }
}
