package import HTTPServer
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
package import Observability
import OpenIDConnect
import Primitives
import SignIn
import Storage

/// `backchannel_authentication`, and `compat.async302`.
package struct BackchannelSettings: FeatureSettings {
    // The most backchannel authentications that are stored at once.

    /// Of one caller, in any phase.
    package var perCaller = 10_000
    /// Pending for one user, of all callers. One caller may have half of them, rounded up.
    package var pendingPerUser = 3
    /// Pending at one provider, of one API key, or of one address where there is no key. Well below
    /// ``pendingPerCarrier``, so that no caller can keep out all others.
    package var pendingPerCaller = 1_000
    /// Pending at one provider, of all callers.
    package var pendingPerCarrier = 10_000
    /// The outcome of a backchannel authentication gets 302 (without `Location`) instead of 200, as the published
    /// example API has it.
    var async302 = false

    package init() {}

    package static let settings = [
        Setting(
            "compat.async302", .flag(), \BackchannelSettings.async302,
            "Answers the outcome of a backchannel authentication with 302 instead of 200, as the published example "
                + "does."),
        Setting(
            "backchannel_authentication.pending_per_user", .integer(1...100), \.pendingPerUser,
            "The most backchannel requests pending for one user; one caller may have half of them, rounded up."),
        Setting(
            "backchannel_authentication.pending_per_caller", .integer(1...1_000_000), \.pendingPerCaller,
            "The most pending at one provider for one API key, or one address without a key: at most half of "
                + "pending_per_carrier."),
        Setting(
            "backchannel_authentication.pending_per_carrier", .integer(2...1_000_000), \.pendingPerCarrier,
            "The most pending at one provider."),
    ]

    /// The part of ``pendingPerUser`` that one caller may have: one caller alone cannot keep a user from signing in
    /// elsewhere.
    var pendingPerUserAndCaller: Int { (pendingPerUser + 1) / 2 }

    package func contradictions(in configuration: Configuration) -> [SettingNote] {
        guard pendingPerCaller > pendingPerCarrier / 2 else { return [] }
        return [
            (
                "backchannel_authentication.pending_per_caller",
                "is more than half of pending_per_carrier, so that two callers could keep out all others",
                "make it smaller, or backchannel_authentication.pending_per_carrier larger"
            )
        ]
    }

    package func warnings(in configuration: Configuration) -> [SettingNote] {
        guard configuration.publicURL == nil else { return [] }
        return configuration.providers.filter { $0.rules.backchannelTokenDelivery == .ping }.map { provider in
            (
                "providers.\(provider.id).backchannel_token_delivery_mode",
                "is ping, and public_url is not set: client-metadata cannot print the address for notifications",
                "set public_url, and register the address with the provider"
            )
        }
    }
}

/// Backchannel authentication (docs/approvals.md): CIBA, and ZenKey's server-initiated sign-in.
package struct BackchannelFeature: Feature {
    let settings: BackchannelSettings
    /// How long the outcome may be fetched again, in seconds.
    let retryWindow: Int64
    let store: SQLStore
    let pace: PollPace
    let prompts = Counts<[PromptOutcome: UInt64]>([:])

    package init(_ settings: BackchannelSettings, in context: FeatureContext) {
        self.settings = settings
        retryWindow = context.configuration.sessions.retryWindow
        store = context.store
        pace = PollPace(uptime: context.uptime)
    }

    package static let startPaths = [BackchannelAuthentication.carriersPath, BackchannelAuthentication.path]

    /// CIBA Core section 4.
    package static func clientMetadata(
        of client: Configuration.Client, at provider: Configuration.Provider, path: String
    ) -> ClientMetadataMembers {
        guard let mode = provider.rules.backchannelTokenDelivery.mode else { return [] }
        let signsRequests = provider.extensions.signedRequestObjects != .never || provider.profile != nil
        return [
            ("backchannel_token_delivery_mode", .string(mode.rawValue)),
            (
                "backchannel_client_notification_endpoint",
                mode == .ping ? .string(path + "/backchannel/notification") : nil
            ),
            (
                "backchannel_authentication_request_signing_alg",
                signsRequests ? client.signingKey.map { .string($0.algorithm.rawValue) } : nil
            ),
        ]
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        backchannelAuthentication(beside: api.useCases).addRoutes(to: &router, of: api)
    }

    func backchannelAuthentication(beside useCases: UseCases) -> BackchannelAuthentication {
        BackchannelAuthentication(feature: self, completion: useCases.completion)
    }

    package static func metrics(of feature: Self?) -> [any Metric] {
        [
            SampledMetric(
                "latchkey_backchannel_requests_total",
                "Backchannel authentication requests, sent to providers or refused because of a limit.",
                by: .init(
                    "outcome",
                    "`accepted`, the provider prompts the user; `refused` by the provider; `failed`, not sent or "
                        + "without a usable response; `user_limit`, the user has enough pending requests or prompts; "
                        + "`caller_limit` and `carrier_limit`, too many requests of the caller or at the provider")
            ) {
                let counts = feature?.prompts.present ?? [:]
                return PromptOutcome.allCases.compactMap { outcome in counts[outcome].map { (outcome.rawValue, $0) } }
            }
        ]
    }
}
