package import HTTPServer
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
package import Observability
import Primitives
package import SignIn

/// `redirects`
package struct RedirectsSettings: FeatureSettings {
    /// How many sign-ins may be under way that this process has started; rows of 600 bytes.
    package var maximumPending = 50_000
    /// How long a browser may be away, in seconds.
    package var lifetime: Int64 = 3600

    package init() {}

    package static let settings = [
        Setting(
            "redirects.max_pending", .integer(100...10_000_000), \RedirectsSettings.maximumPending,
            "The most sign-ins by redirect in progress that this process has started. One more drops the oldest one of "
                + "the subnet with the most, which must be started again."),
        Setting(
            "redirects.lifetime", .seconds(60...86_400), \RedirectsSettings.lifetime,
            "How long a browser may be at a provider, where a user may have to register or to look for a second factor."
        ),
    ]
}

/// Sign-ins by redirects (docs/web-frontends.md): browsers that are sent to providers and back, and the pages for them.
package struct RedirectsFeature: Feature {
    static let startPath = "/auth/{provider}/start"
    static let initiationPath = "/auth/{provider}/initiate-login"

    /// Whether the developer console is the front page, to which the sign-in page then links.
    let hasConsole: Bool
    /// The sign-ins that this process has started and that have not come back.
    let pendingStarts: OneTimeRecordQuota
    let answeredCodes: OneTimeRecordQuota
    let ends: RedirectEnds
    let lifetime: Int64
    /// The origins, besides this server's, where a browser may go on after it has signed in on the sign-in page.
    let allowedOrigins: Set<String>

    package init(_ settings: RedirectsSettings, in context: FeatureContext) {
        hasConsole = context.configuration.hasConsole
        func quota() -> OneTimeRecordQuota {
            OneTimeRecordQuota(
                maximum: settings.maximumPending, lifetime: .seconds(settings.lifetime), uptime: context.uptime)
        }
        pendingStarts = quota()
        answeredCodes = quota()
        ends = RedirectEnds(lifetime: min(settings.lifetime, 3600))
        lifetime = settings.lifetime
        allowedOrigins = Set(context.configuration.allowedOrigins.map(\.text))
    }

    package static let startPaths = [startPath, initiationPath]

    package static func callbackPaths(
        at provider: String, of clientTypes: [ClientType], in configuration: Configuration
    ) -> [String] { ["/auth/\(provider)/callback"] }

    package static func clientMetadata(
        of client: Configuration.Client, at provider: Configuration.Provider, path: String
    ) -> ClientMetadataMembers {
        let mayBeInitiated = provider.rules.loginInitiationClient == client.id
        return [("initiate_login_uri", mayBeInitiated ? .string(path + "/initiate-login") : nil)]
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        redirectSignIn(of: api).addRoutes(to: &router)
    }

    package func redirects(of api: LatchkeyAPI) -> (any BrowserRedirects)? { redirectSignIn(of: api) }

    func redirectSignIn(of api: LatchkeyAPI) -> RedirectSignIn { RedirectSignIn(api: api, feature: self) }

    package static func metrics(of feature: Self?) -> [any Metric] {
        [
            SampledMetric(
                "latchkey_redirect_starts_pending", .gauge,
                "Sign-ins by redirect that this process started and that have not come back.",
                { Double(feature?.pendingStarts.count ?? 0) }),
            SampledMetric(
                "latchkey_redirect_starts_limited_total",
                "Sign-ins by redirect refused or dropped because too many are under way.",
                by: .init("reason", "`refused`, answered 503; `displaced`, dropped for another one")
            ) {
                guard let now = feature?.pendingStarts.statistics else { return [] }
                return [("refused", now.refused), ("displaced", now.displaced)]
            },
        ]
    }
}
