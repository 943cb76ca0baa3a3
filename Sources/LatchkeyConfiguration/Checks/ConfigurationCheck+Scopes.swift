internal import OpenIDConnect
internal import SignIn

extension ConfigurationCheck {
    /// The scopes of OpenID Connect (Core sections 5.4 and 11), and the carriers'.
    private static let known =
        ["openid", "profile", "email", "phone", "address", "offline_access"] + ["name", "postal_code"]
        + ConsentedClaim.allCases.map(\.rawValue).filter { $0 != "address" }

    mutating func warnOfScopes() {
        for provider in configuration.allProviders {
            let (key, isZenKey) = (provider.keys.clients, provider.kind == .zenkey)
            for client in provider.clients {
                let name = "the client \(client.id.text)" + (isZenKey ? "" : " of \(provider.id)")
                // OAuth 2 providers have their own scopes, such as GitHub's read:user. Mobile operators' are
                // not configured.
                if isZenKey || provider.kind == .oidc {
                    warnOfUnknownScopes(of: client, key, name, areAllKnown: isZenKey)
                }
                warnOfUnstoredScopes(of: client, key, name)
            }
        }
    }

    /// - Parameters:
    ///   - name: The client, and its provider where there are several, because all clients have the same key.
    ///   - areAllKnown: Whether there are no others. A provider other than a carrier may have its own scopes, so only
    ///     those that look misspelled cause a warning.
    private mutating func warnOfUnknownScopes(
        of client: Configuration.Client, _ key: String, _ name: String, areAllKnown: Bool
    ) {
        for scope in client.scopes where !Self.known.contains(scope) {
            let similar = Suggestion.nearest(to: scope, among: Self.known)
            guard areAllKnown || similar != nil else { continue }
            warn(
                key, "\(name) asks for the scope \(scope), which is not known",
                similar.map { "perhaps \($0) is meant; remove it otherwise" }
                    ?? "remove it: a provider may refuse the sign-in, and what it brings is ignored")
        }
    }

    private mutating func warnOfUnstoredScopes(of client: Configuration.Client, _ key: String, _ name: String) {
        guard configuration.vaultKeys.isEmpty else { return }
        let lost = client.scopes.filter { ConsentedClaim(rawValue: $0)?.isSensitive == true }
        guard !lost.isEmpty else { return }
        warn(
            key,
            "\(name) asks for \(lost.joined(separator: ", ")), which is stored encrypted only",
            "set encryption_keys; without it, the values are in zenkey_attributes only, and not stored")
    }
}
