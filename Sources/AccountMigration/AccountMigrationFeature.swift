package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
package import SignIn
import StorageModel

/// `zenkey.port_tokens`
extension PortTokenRules: FeatureSettings {
    package static let settings = [
        Setting(
            "zenkey.port_tokens.require_type", .flag(), \PortTokenRules.requiresType,
            "Whether the typ of port tokens must be port_token+jwt; otherwise it may also be absent.")
    ]

    package func warnings(
        in configuration: Configuration
    ) -> [(key: String, reason: String, remedy: String)] {
        guard !requiresType else { return [] }
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
    let rules: PortTokenRules
    let store: any IdentityStore
    let clock: WallClock

    package init(_ rules: PortTokenRules, in context: FeatureContext) {
        self.init(rules, store: context.store, clock: context.clock)
    }

    init(_ rules: PortTokenRules = PortTokenRules(), store: any IdentityStore, clock: WallClock) {
        self.rules = rules
        self.store = store
        self.clock = clock
    }

    package var formerIdentities: FormerIdentitySource? { formerIdentities(of:in:) }
}
