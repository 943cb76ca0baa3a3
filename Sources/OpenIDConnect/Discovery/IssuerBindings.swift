package import Primitives
import Synchronization

/// Keeps which issuer each network names, and the binding of each issuer. Every call is atomic.
package protocol IssuerBindings: Sendable {
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func known(of network: MCCMNC, _ issuer: String) async throws(OIDCError) -> KnownIssuer

    /// Keeps that the network names the issuer, and the issuer's binding, by the rule of ``KnownIssuer/change(by:)``.
    ///
    /// - Returns: What is in force afterwards: it may be another process's binding. Nothing is in force for a new
    ///   network or issuer if there are ``KnownIssuers/maximumCount`` of them.
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func bind(_ network: MCCMNC, to binding: IssuerBinding) async throws(OIDCError) -> KnownIssuer

    /// Forgets a binding of first use, and the networks that named its issuer.
    /// - Throws: ``OIDCError/Code/storeUnavailable``.
    func forgetFirstUse(_ issuer: String) async throws(OIDCError)
}

/// Bindings for the life of a process: for a relying party without a store.
package final class MemoryIssuerBindings: IssuerBindings {
    private let state: Mutex<KnownIssuers>

    /// - Parameter known: What is known at the beginning.
    package init(_ known: KnownIssuers = KnownIssuers()) { state = Mutex(known) }

    package func known(of network: MCCMNC, _ issuer: String) -> KnownIssuer {
        state.withLock { $0.known(of: network.text, issuer) }
    }

    package func bind(_ network: MCCMNC, to binding: IssuerBinding) -> KnownIssuer {
        state.withLock { $0.bind(binding, to: network.text) }
    }

    package func forgetFirstUse(_ issuer: String) { state.withLock { $0.forgetFirstUse(of: issuer) } }
}

extension IssuerBinding {
    /// The binding that a network's metadata asks for; nil for a provider without keys.
    init?(_ metadata: ProviderMetadata, trust: Trust) {
        guard let jwksURI = metadata.jwksURI else { return nil }
        self.init(
            issuer: metadata.issuer, jwksURI: jwksURI.text, tokenHost: metadata.tokenEndpoint.authority,
            hosts: metadata.endpointHosts, trust: trust)
    }

    /// The binding that the issuer's own OpenID configuration confirms; nil if it names no token endpoint.
    init?(_ own: IssuerMetadata) {
        guard let tokenHost = own.tokenHost else { return nil }
        self.init(
            issuer: own.issuer, jwksURI: own.jwksURI.text, tokenHost: tokenHost, hosts: own.hosts, trust: .confirmed)
    }

    /// Whether metadata has the same issuer, the same keys and the same host for tokens, and no endpoint elsewhere.
    func covers(_ metadata: ProviderMetadata) -> Bool {
        issuer.hasSameBytes(as: metadata.issuer) && jwksURI == metadata.jwksURI?.text
            && tokenHost == metadata.tokenEndpoint.authority && metadata.endpointHosts.isSubset(of: hosts)
    }
}

extension ProviderMetadata {
    /// The hosts of all endpoints that codes, tokens, secrets or users are sent to.
    fileprivate var endpointHosts: Set<String> {
        Set(
            [
                authorizationEndpoint, tokenEndpoint, userInfoEndpoint, serverInitiatedAuthorizationEndpoint,
                pushedAuthorizationRequestEndpoint,
            ].compactMap { $0?.authority } + mutualTLSAliases.endpoints.map(\.authority))
    }
}
