package import Primitives

/// Tokens that are bound to the client's certificate (RFC 8705 section 3).
///
/// A client that authenticates by its certificate presents it with every setting but ``ExtensionUse/never``, which
/// contradicts it.
extension ClientCredentials {
    /// What requests of the client present at a provider: at its endpoints, and at resources; nil for nothing.
    /// - Parameter setting: ``ExtensionUse/auto`` presents the certificate if the client authenticates by it, or the
    ///   metadata says that tokens can be bound to it.
    package func clientTLS(at provider: ProviderMetadata, _ setting: ExtensionUse) -> ClientTLS? {
        let isUsual = authentication.method.usesMutualTLS || provider.demands.certificateBoundTokens
        return setting.applies(ifDemanded: isUsual) ? clientTLS : nil
    }

    /// Refuses what ``ExtensionUse/always`` does not allow.
    /// - Throws: ``OIDCError/Code/clientRefused`` if there must be a certificate and there is none;
    ///   ``OIDCError/Code/metadataRefused`` if tokens must be bound and the provider does not say that it can.
    package func checkClientTLS(at provider: ProviderMetadata, _ setting: ExtensionUse) throws(OIDCError) {
        guard setting == .always else { return }
        guard clientTLS != nil else {
            throw OIDCError(.clientRefused, reason: "The client has no certificate to bind its tokens to.")
        }
        guard provider.demands.certificateBoundTokens else {
            throw MetadataReader.refused("tls_client_certificate_bound_access_tokens")
        }
    }
}
