public import LatchkeyService

#if AuditSeals
    import AuditSeals
#endif
#if Capsules
    import Capsules
#endif
#if Services
    import Services
#endif
#if StatusPage
    import StatusPage
#endif
#if Telemetry
    import TelemetryExport
#endif
#if Transactions
    import Transactions
#endif
#if Zephr
    import Zephr
#endif

extension FeatureList {
    /// The features of this build: each is a trait of the package, and all are on by default.
    public static let standard = FeatureList.none
        #if AuditSeals
            .adding(AuditSealsFeature.self)
        #endif
        #if Capsules
            .adding(CapsulesFeature.self)
        #endif
        #if Services
            .adding(ServicesFeature.self)
        #endif
        #if StatusPage
            .adding(StatusPageFeature.self)
        #endif
        #if Telemetry
            .adding(TelemetryExportFeature.self)
        #endif
        #if Transactions
            .adding(TransactionsFeature.self)
        #endif
        #if Zephr
            .adding(ZephrFeature.self)
        #endif
}
