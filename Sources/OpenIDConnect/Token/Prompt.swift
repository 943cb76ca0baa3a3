/// What a provider is asked to show the user (the `prompt` of OpenID Connect Core section 3.1.2.1).
public enum Prompt: String, Sendable, Hashable, CaseIterable {
    /// `none`: no page at all. The provider responds with an error if it must show one.
    case noInteraction = "none"
    /// The user authenticates again, even if signed in at the provider.
    case login
    /// The user is asked for consent again.
    case consent
    /// The user selects an account.
    case selectAccount = "select_account"

    /// The values of a request; nil if one is unknown, or if `none` is beside others.
    public static func values(_ words: [String]) -> [Prompt]? {
        let prompts = words.compactMap(Prompt.init(rawValue:))
        guard prompts.count == words.count else { return nil }
        return prompts.contains(.noInteraction) && prompts.count > 1 ? nil : prompts
    }
}
