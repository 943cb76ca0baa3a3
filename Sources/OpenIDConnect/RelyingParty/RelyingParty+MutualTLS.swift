import Primitives

/// Certificates of clients (RFC 8705).
extension RelyingParty {
    /// What requests of a client present at a provider; nil for nothing.
    func clientTLS(of client: ClientCredentials?, at provider: ProviderMetadata) -> ClientTLS? {
        client?.clientTLS(at: provider, configuration.mutualTLS)
    }

    /// Refuses a client whose tokens could not be bound as configured, before anything is sent.
    /// - Parameter endpoint: Names the request in the error.
    func check(
        _ client: ClientCredentials, at provider: ProviderMetadata, for endpoint: EndpointURL
    ) throws(OIDCError) {
        do throws(OIDCError) {
            try client.checkClientTLS(at: provider, configuration.mutualTLS)
        } catch {
            discovery.distrust(provider)
            throw error.at(.init(to: endpoint))
        }
    }
}
