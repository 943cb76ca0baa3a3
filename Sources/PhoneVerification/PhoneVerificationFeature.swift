package import HTTPServer
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
package import Observability
import OpenIDConnect
import Primitives
package import SignIn
import Storage

/// What is unsafe in the keys of providers of kind `camara`, which are the core's.
package struct PhoneVerificationSettings: FeatureSettings {
    package init() {}

    /// Without a check of the SIM, an attacker who gets a new SIM for a user's number signs in as this user.
    package func warnings(in configuration: Configuration) -> [(key: String, reason: String, remedy: String)] {
        var warned: Set<String> = []
        return configuration.providers.filter { provider in
            warned.insert(provider.path).inserted && provider.mobileOperator?.simSwap.ifSwapped == .off
        }.map { provider in
            (
                "providers",
                "\(provider.path) has no sim_swap, so a sign-in by number succeeds right after the number was moved to "
                    + "another SIM", "set sim_swap.if_swapped to refuse, or to report"
            )
        }
    }
}

/// Verified phone numbers (docs/verified-numbers.md): the providers of kind `camara`, at which mobile operators tell
/// the number of a device, and the verifications of signed-in users' numbers.
package struct PhoneVerificationFeature: Feature {
    private let store: SQLStore
    private let clock: WallClock
    private let pause: PollPauses
    private let outcomes = PhoneVerificationOutcomes()

    package init(_ settings: PhoneVerificationSettings, in context: FeatureContext) {
        self.init(store: context.store, clock: context.clock)
    }

    /// - Parameter pause: Waits between two polls of a mobile operator.
    init(store: SQLStore, clock: WallClock, pause: PollPauses = PollPauses()) {
        self.store = store
        self.clock = clock
        self.pause = pause
    }

    package func group(
        of configured: [Configuration.Provider], _ server: (Configuration.Provider) -> AuthorizationServer
    ) -> (any ServerGroup)? {
        guard let provider = configured.first, provider.kind == .camara else { return nil }
        let operators = configured.compactMap { one in
            one.mobileOperator.map { MobileOperator(settings: $0, server: server(one)) }
        }
        let finder = configured.first(where: \.isTelcoFinder).flatMap { finder in
            finder.telcoFinder.map { OperatorFinder(rules: $0, relyingParty: server(finder).relyingParty) }
        }
        return group(provider.path, operators, finder)
    }

    /// - Parameter provider: The name in paths.
    func group(_ provider: String, _ operators: [MobileOperator], _ finder: OperatorFinder?) -> MobileOperators {
        MobileOperators(
            provider: provider, all: operators, finder: finder, store: store,
            oneTimeStore: EncryptedOneTimeStore(store: store, clock: clock), pause: pause, outcomes: outcomes)
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        VerifyPhoneNumber(api: api, store: store, outcomes: outcomes).addRoutes(to: &router, of: api)
    }

    package static func metrics(of feature: Self?) -> [any Metric] {
        (feature?.outcomes ?? PhoneVerificationOutcomes()).metrics
    }
}
