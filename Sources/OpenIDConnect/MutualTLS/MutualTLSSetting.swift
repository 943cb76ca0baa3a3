/// Whether tokens are bound to the client's certificate (RFC 8705 section 3). The raw value is its name in the
/// configuration.
///
/// A client that authenticates by its certificate presents it with every setting but ``never``, which contradicts it.
public enum MutualTLSSetting: String, Sendable, Hashable, CaseIterable {
    /// A client that has a certificate presents it if the provider's metadata says that tokens can be bound to it.
    case auto
    /// Always: a provider whose metadata does not say that it binds tokens cannot be used.
    case always
    /// No certificate is presented.
    case never

    /// What requests of a client present at a provider: at its endpoints, and at resources; nil for nothing.
    package func clientTLS(of client: ClientCredentials, at provider: ProviderMetadata) -> ClientTLS? {
        switch self {
        case .auto:
            client.authentication.method.usesMutualTLS || provider.demands.certificateBoundTokens
                ? client.clientTLS : nil
        case .always: client.clientTLS
        case .never: nil
        }
    }

    /// - Throws: ``OIDCError/Code/clientRefused`` if there must be a certificate and there is none;
    ///   ``OIDCError/Code/metadataRefused`` if tokens must be bound and the provider does not say that it can.
    package func check(_ client: ClientCredentials, at provider: ProviderMetadata) throws(OIDCError) {
        guard self == .always else { return }
        guard client.clientTLS != nil else {
            throw OIDCError(.clientRefused, reason: "The client has no certificate to bind its tokens to.")
        }
        guard provider.demands.certificateBoundTokens else {
            throw MetadataReader.refused("tls_client_certificate_bound_access_tokens")
        }
    }
}
