package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
package import SignIn
import Storage

/// The resources of providers (docs/providers.md), fetched with the tokens of the user's sign-in.
package struct ProviderResourcesFeature: Feature {
    private let store: SQLStore
    private let refreshes = TokenRefreshes(random: .system)

    init(store: SQLStore) { self.store = store }

    package init(_ settings: NoSettings, in context: FeatureContext) { self.init(store: context.store) }

    package var keepingRules: [WritableKeyPath<ServerRules, Bool>] { [\.storesTokens] }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let fetch = FetchResource(
            environment: api.useCases.environment, store: store, vault: api.useCases.vault, refreshes: refreshes)
        router.get(
            "/auth/{provider}/resources/{name}",
            api.changing { _, request, caller in
                // The provider's JSON as it is; nothing else of its answer.
                let name = request.parameters["name"] ?? ""
                return .json(.ok, try await fetch(name, of: request.provider, for: caller.holder))
            })
    }

    package static let operations: [APIOperation] = [
        APIOperation(
            .get, "/auth/{provider}/resources/{name}", "showResource", .account, .session,
            "Show a provider's resource of the user",
            "Fetched with the provider's stored tokens, which are renewed as needed.",
            parameters: [
                .provider,
                .path("name", .text("One of the provider's `resources` in the configuration.", example: "zak")),
            ],
            responses: [
                .json(
                    "The provider's JSON, unchanged.",
                    .anyOf(
                        "An object or an array.",
                        [
                            .object("In the provider's own form.", [], isOpen: true),
                            .list("In the provider's own form.", of: .anyOf("Any value.", [.anything])),
                        ]), example: #"{"token": "eyJ6bV9za20iOiJ6bV9vMm0ifQ"}"#)
            ],
            refusals: [
                .providerUnknown, .carrierError, .carrierTimeout,
                APIRefusal(SignInError.grantMissing),
                APIRefusal(SignInError.grantRevoked),
            ])
    ]
}
