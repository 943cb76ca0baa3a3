/// What becomes of the tokens of new sign-ins at a provider (DPoP, RFC 9449).
package enum DPoPUse: Sendable, Hashable {
    /// They are Bearer tokens.
    case none
    /// They are bound to a key that only this server has, if the provider binds them.
    case offered
    /// They are bound to such a key, or refused.
    case required

    /// A token that is used once and forgotten gains little, and each proof costs a signature. So what a provider only
    /// supports is used where that gains something.
    /// - Parameters:
    ///   - setting: ``FeatureUse/auto`` also binds tokens where the provider only supports it, if they are preferred.
    ///   - prefersBoundTokens: Whether tokens are bound wherever the provider supports it.
    package init(_ setting: FeatureUse, at provider: ProviderMetadata, prefersBoundTokens: Bool) {
        self =
            switch setting {
            case .auto where provider.demands.dpopBoundTokens: .required
            case .auto:
                prefersBoundTokens && provider.demands.dpopAlgorithms?.contains(.es256) ?? false ? .offered : .none
            case .always: .required
            case .never: .none
            }
    }
}
