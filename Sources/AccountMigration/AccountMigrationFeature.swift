package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
package import SignIn
import StorageModel

/// `zenkey.port_tokens`
package struct PortTokenSettings: FeatureSettings {
    /// What is demanded of port tokens.
    package var rules = PortTokenRules()

    package init() {}

    package static let settings = [
        Setting(
            "zenkey.port_tokens.require_type", .flag(), \PortTokenSettings.rules.requiresType,
            "Whether the typ of port tokens must be port_token+jwt; otherwise it may also be absent.")
    ]

    package func warnings(
        in configuration: Configuration
    ) -> [(key: String, reason: String, remedy: String)] {
        guard !rules.requiresType else { return [] }
        return [
            (
                "zenkey.port_tokens.require_type",
                "a signed token of a carrier without typ may move an account, and its claims alone show what it is for",
                "set it to true unless a carrier's port tokens have no typ"
            )
        ]
    }
}

/// Account migration (docs/accounts.md): a user who changes carriers keeps the account, if the former carrier vouches
/// for that with a port token.
package struct AccountMigrationFeature: Feature {
    package let formerIdentities: FormerIdentitySource?

    package init(_ settings: PortTokenSettings, in context: FeatureContext) {
        self.init(settings, store: context.store, clock: context.clock)
    }

    init(_ settings: PortTokenSettings = PortTokenSettings(), store: any IdentityStore, clock: WallClock) {
        formerIdentities = FormerIdentities(store: store, rules: settings.rules, clock: clock).callAsFunction
    }
}
