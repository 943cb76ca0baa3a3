import LatchkeyConfiguration
public import LatchkeyService
import OpenIDConnect
import SignIn

#if AccountMigration
    import AccountMigration
#endif
#if Administration
    import Administration
#endif
#if AuditSeals
    import AuditSeals
#endif
#if Backchannel
    import Backchannel
#endif
#if BoundTokens
    import BoundTokens
#endif
#if Capsules
    import Capsules
#endif
#if Examination
    import Examination
#endif
#if Linking
    import Linking
#endif
#if NativeSignIn
    import NativeSignIn
#endif
#if PhoneVerification
    import PhoneVerification
#endif
#if PostgreSQL
    import PostgreSQL
#endif
#if Presets
    import Presets
#endif
#if ProviderLogout
    import ProviderLogout
#endif
#if ProviderResources
    import ProviderResources
#endif
#if Redirects
    import Redirects
#endif
#if Registration
    import Registration
#endif
#if SecurityEvents
    import SecurityEvents
#endif
#if Services
    import Services
#endif
#if Statistics
    import Statistics
#endif
#if StatusPage
    import StatusPage
#endif
#if TelemetryExport
    import TelemetryExport
#endif
#if Transactions
    import Transactions
#endif
#if Webhooks
    import Webhooks
#endif
#if Zephr
    import Zephr
#endif

extension FeatureList {
    /// The core alone.
    public static let none = FeatureList(
        [],
        unmet: [
            FeatureDemand("Backchannel") { configuration in
                configuration.providers.first { $0.rules.backchannelTokenDelivery != .off }
                    .map { "providers.\($0.id).backchannel_token_delivery_mode" }
            },
            FeatureDemand("BoundTokens") { configuration in
                configuration.allProviders.first { $0.clients.contains { $0.rules.boundTokens != .off } }
                    .map { "\($0.keys.settings).dpop_bound_tokens" }
            },
            FeatureDemand("NativeSignIn") { configuration in
                configuration.providers.first { !$0.nativeClients.isEmpty }
                    .map { "providers.\($0.id).native_audiences" }
            },
            FeatureDemand("PhoneVerification", ofKinds: [.camara, .firebasePNV, .aggregator]),
            FeatureDemand("PostgreSQL") { $0.database.postgresURLs.first?.key },
            FeatureDemand("ProviderResources") { configuration in
                configuration.providers.first(where: \.rules.storesTokens).map { "providers.\($0.id).store_tokens" }
            },
            // The console lists the ways to sign in, and sends the browser to them.
            FeatureDemand("Redirects") { configuration in
                configuration.hasConsole
                    ? "console"
                    : configuration.providers.first { $0.rules.loginInitiationClient != nil }
                        .map { "providers.\($0.id).initiate_login_client" }
            },
            FeatureDemand("Services") { configuration in
                configuration.allProviders.first { $0.clients.contains { $0.rules.accessToken.form == .jwt } }
                    .map { "\($0.keys.settings).access_token" }
            },
            FeatureDemand("Registration") { $0.registration.mode == .required ? "registration" : nil },
        ])

    /// The features of this build: each is a trait of the package, and all are on by default.
    public static let standard = FeatureList.none
        #if AccountMigration
            .adding(AccountMigrationFeature.self)
        #endif
        #if Administration
            .adding(AdministrationFeature.self)
        #endif
        #if AuditSeals
            .adding(AuditSealsFeature.self)
        #endif
        #if Backchannel
            .adding(BackchannelFeature.self, meeting: "Backchannel")
        #endif
        #if BoundTokens
            .adding(BoundTokensFeature.self, meeting: "BoundTokens")
        #endif
        #if Capsules
            .adding(CapsulesFeature.self)
        #endif
        #if Examination
            .adding(ExaminationFeature.self)
        #endif
        #if Linking
            .adding(LinkingFeature.self)
        #endif
        #if NativeSignIn
            .adding(NativeSignInFeature.self, meeting: "NativeSignIn")
        #endif
        #if PhoneVerification
            .adding(PhoneVerificationFeature.self, meeting: "PhoneVerification")
        #endif
        #if PostgreSQL
            .adding(PostgreSQLFeature.self, meeting: "PostgreSQL")
        #endif
        #if Presets
            .adding(PresetsFeature.self)
        #endif
        #if ProviderLogout
            .adding(ProviderLogoutFeature.self)
        #endif
        #if ProviderResources
            .adding(ProviderResourcesFeature.self, meeting: "ProviderResources")
        #endif
        #if Redirects
            .adding(RedirectsFeature.self, meeting: "Redirects")
        #endif
        #if Registration
            .adding(RegistrationFeature.self, meeting: "Registration")
        #endif
        #if SecurityEvents
            .adding(SecurityEventsFeature.self)
        #endif
        #if Services
            .adding(ServicesFeature.self, meeting: "Services")
        #endif
        #if Statistics
            .adding(StatisticsFeature.self)
        #endif
        #if StatusPage
            .adding(StatusPageFeature.self)
        #endif
        #if TelemetryExport
            .adding(TelemetryExportFeature.self)
        #endif
        #if Transactions
            .adding(TransactionsFeature.self)
        #endif
        #if Webhooks
            .adding(WebhooksFeature.self)
        #endif
        #if Zephr
            .adding(ZephrFeature.self)
        #endif

    /// What sends browsers to providers; none in a build without it.
    public static let redirects = FeatureList.none
        #if Redirects
            .adding(RedirectsFeature.self, meeting: "Redirects")
        #endif
}
