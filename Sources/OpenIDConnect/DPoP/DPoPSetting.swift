/// Whether tokens are bound to a key that only this server has (DPoP, RFC 9449). The raw value is its name in the
/// configuration.
public enum DPoPSetting: String, Sendable, Hashable, CaseIterable {
    /// If the provider's metadata demands it, or supports it and bound tokens are preferred
    /// (``RelyingParty/Configuration/prefersBoundTokens``).
    case auto
    /// Always: a token that is not bound is refused.
    case always
    /// Not even if the provider's metadata demands it.
    case never

    /// What becomes of the tokens of new sign-ins.
    package enum Use: Sendable, Hashable {
        /// They are Bearer tokens.
        case none
        /// They are bound if the provider binds them.
        case offered
        /// They are bound, or refused.
        case required
    }

    /// What becomes of the tokens of new sign-ins at a provider.
    ///
    /// A token that is used once and forgotten gains little, and each proof costs a signature. So what a provider only
    /// supports is used where that gains something.
    /// - Parameter prefersBoundTokens: Whether tokens are bound wherever the provider supports it.
    package func use(at provider: ProviderMetadata, prefersBoundTokens: Bool) -> Use {
        switch self {
        case .auto where provider.demands.dpopBoundTokens: .required
        case .auto:
            prefersBoundTokens && provider.demands.dpopAlgorithms?.contains(.es256) ?? false ? .offered : .none
        case .always: .required
        case .never: .none
        }
    }
}
