package import Primitives
import Synchronization

/// Decides whether metadata may name its issuer.
///
/// Metadata that an issuer serves itself must name that issuer (OpenID Connect Discovery section 4.3). Carriers'
/// metadata comes from a broker, by network: a network could name another carrier's issuer beside keys and endpoints of
/// its own, and so vouch for the other's users. Therefore a network may name an issuer only
///
/// - with the keys and hosts that the issuer is bound to, or
/// - with those of the issuer's own OpenID configuration, which is then the binding, or
/// - first, if the issuer publishes no OpenID configuration, or
/// - if the administrator configured it as the network's issuer.
///
/// The issuer's own configuration is requested only for metadata that no confirmed binding covers. So its outage does
/// not affect a carrier that is known.
struct IssuerVerification: Sendable {
    struct Verdict: Sendable {
        /// Why the metadata is refused; nil if it is accepted.
        var refusal: OIDCError?
        /// What cached metadata of this issuer must agree with from now on; nil if nothing new is known.
        var authority: IssuerBinding?
    }

    let access: ProviderAccess
    let issuers: IssuerConfigurations
    let bindings: any IssuerBindings

    func verify(_ metadata: ProviderMetadata, from source: MetadataSource) async -> Verdict {
        switch source {
        case .issuer(let issuer):
            let expected = access.configuration.idTokenRules.tenants?.template ?? issuer.text
            guard expected.hasSameBytes(as: metadata.issuer) else {
                return Verdict(
                    refusal: OIDCError(.metadataRefused, reason: Refusal.notConfigured.text).adding(
                        "If \(metadata.issuer) is the provider's, configure it as the metadata spells it."))
            }
            return Verdict()
        case .network(let network, _):
            do throws(OIDCError) {
                return try await verify(metadata, of: network)
            } catch {
                return Verdict(refusal: error)
            }
        }
    }

    /// Whether the administrator configured the issuer of a source.
    func isPinned(_ source: MetadataSource) -> Bool {
        guard case .network(let network, _) = source else { return true }
        return access.configuration.pinnedIssuers[network] != nil
    }

    private func verify(_ metadata: ProviderMetadata, of network: MCCMNC) async throws(OIDCError) -> Verdict {
        if let expected = access.configuration.pinnedIssuers[network] {
            guard expected.hasSameBytes(as: metadata.issuer) else { return refuse(.notConfigured, metadata, network) }
            return await accept(pinned: metadata, network)
        }
        guard let issuer = EndpointURL(metadata.issuer, policy: access.configuration.urlPolicy),
            metadata.isOfOneOperator(with: issuer, access.configuration.trustedHosts)
        else { return refuse(.otherOperator, metadata, network) }
        let known = try await bindings.known(of: network, metadata.issuer)
        ProtocolRecord.current?.note { $0.issuer = .init(known: known) }
        guard known.networkIssuer?.hasSameBytes(as: metadata.issuer) ?? true else {
            return refuse(.issuerChanged, metadata, network)
        }
        if let binding = known.binding, binding.trust != .firstUse, binding.covers(metadata) {
            guard known.networkIssuer == nil else { return Verdict(authority: binding) }
            return try await accept(binding, metadata, network)
        }
        do throws(OIDCError) {
            let own = try await issuers.metadata(of: issuer)
            ProtocolRecord.current?.note { $0.issuer?.own = IssuerBinding(own) }
            return try await compare(metadata, with: own, known.binding, network)
        } catch {
            guard error.code != .storeUnavailable else { throw error }
            return try await verify(metadata, of: network, known.binding, withoutDocument: error)
        }
    }

    /// The administrator vouches for the network, whatever else is known.
    private func accept(pinned metadata: ProviderMetadata, _ network: MCCMNC) async -> Verdict {
        guard let binding = IssuerBinding(metadata, trust: .pinned) else { return Verdict() }
        // A store that fails does not keep the configured carriers' users from signing in.
        let known = (try? await bindings.known(of: network, metadata.issuer)) ?? KnownIssuer()
        if known.networkIssuer != binding.issuer || known.binding != binding {
            _ = try? await bindings.bind(network, to: binding)
        }
        return Verdict(authority: binding)
    }

    private func accept(
        _ binding: IssuerBinding, _ metadata: ProviderMetadata, _ network: MCCMNC
    ) async throws(OIDCError) -> Verdict {
        let inForce = try await bindings.bind(network, to: binding)
        guard inForce.networkIssuer?.hasSameBytes(as: metadata.issuer) ?? true else {
            return refuse(.issuerChanged, metadata, network)
        }
        // What the issuer itself confirms is right, also where there is no room to keep it, and beside a pinned network
        // that says otherwise.
        guard binding.trust == .firstUse else {
            return Verdict(authority: inForce.binding.flatMap { $0.covers(metadata) ? $0 : nil })
        }
        guard let kept = inForce.binding, inForce.networkIssuer != nil else {
            return refuse(.tooMany, metadata, network)
        }
        guard kept.covers(metadata) else { return refuse(.keysChanged, metadata, network) }
        return Verdict(authority: kept)
    }

    private func compare(
        _ metadata: ProviderMetadata, with own: IssuerMetadata, _ stored: IssuerBinding?, _ network: MCCMNC
    ) async throws(OIDCError) -> Verdict {
        let confirmed = IssuerBinding(own)
        if let confirmed, confirmed.covers(metadata) { return try await accept(confirmed, metadata, network) }
        // The cached configuration may be older than the metadata.
        issuers.distrust(own)
        var verdict = refuse(.contradicted, metadata, network)
        if stored == nil || stored?.trust == .firstUse {
            verdict.authority = confirmed
            if let stored, confirmed?.isSame(as: stored) != true {
                try await bindings.forgetFirstUse(metadata.issuer)
            }
        }
        return verdict
    }

    /// - Parameter error: Why there is no configuration of the issuer's own.
    private func verify(
        _ metadata: ProviderMetadata, of network: MCCMNC, _ stored: IssuerBinding?, withoutDocument error: OIDCError
    ) async throws(OIDCError) -> Verdict {
        // No other network is the first to name an issuer that the administrator configured.
        let isPinnedElsewhere = access.configuration.pinnedIssuers.values.contains(metadata.issuer)
        if let stored {
            guard stored.covers(metadata), !isPinnedElsewhere else {
                return refuse(.keysChanged, metadata, network, because: error)
            }
            return try await accept(stored, metadata, network)
        }
        guard error.saysNotFound, !isPinnedElsewhere, let first = IssuerBinding(metadata, trust: .firstUse) else {
            return refuse(.unverified, metadata, network, because: error)
        }
        return try await accept(first, metadata, network)
    }

    /// - Parameter error: Why the issuer could not be asked.
    private func refuse(
        _ refusal: Refusal, _ metadata: ProviderMetadata, _ network: MCCMNC, because error: OIDCError? = nil
    ) -> Verdict {
        access.observer.metadataRefusal(network, metadata.issuer, refusal)
        guard refusal == .unverified, let error, !error.saysNotFound else {
            return Verdict(refusal: OIDCError(.metadataRefused, reason: refusal.text))
        }
        var unverified = OIDCError(error.code, retryAfter: error.retryAfter, reason: "\(refusal.text) \(error.reason)")
        unverified.request = error.request
        return Verdict(refusal: unverified)
    }

    typealias Refusal = RelyingPartyObserver.MetadataRefusal
}

extension RelyingPartyObserver.MetadataRefusal {
    var text: String {
        let remedy = "If that is right, configure the network's issuer."
        return switch self {
        case .notConfigured: "The metadata names another issuer than the one configured for it."
        case .otherOperator: "The network's metadata names an issuer of another operator. \(remedy)"
        case .issuerChanged: "The network's metadata names another issuer than before. \(remedy)"
        case .keysChanged:
            "The network's metadata names an issuer with other keys or hosts than before, and the issuer's own OpenID "
                + "configuration does not confirm them. \(remedy)"
        case .contradicted:
            "The network's metadata names an issuer with other keys or hosts than the issuer's own OpenID "
                + "configuration. \(remedy)"
        case .unverified:
            "The network's metadata names an issuer whose own OpenID configuration is not available to verify it."
        case .tooMany: "Too many networks or issuers are known. \(remedy)"
        }
    }
}

extension OIDCError {
    fileprivate var saysNotFound: Bool { code == .unusableResponse && [404, 410].contains(request?.status) }
}

extension ProviderMetadata {
    /// Whether the endpoints that receive codes, tokens and client secrets, and the keys, are on hosts of the issuer's
    /// operator.
    fileprivate func isOfOneOperator(with issuer: EndpointURL, _ trusted: TrustedHosts) -> Bool {
        let endpoints: [EndpointURL?] = [tokenEndpoint, jwksURI, userInfoEndpoint, pushedAuthorizationRequestEndpoint]
        return (endpoints.compactMap(\.self) + mutualTLSAliases.endpoints).allSatisfy {
            trusted.areOfOneOperator($0.host, issuer.host)
        }
    }
}

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
