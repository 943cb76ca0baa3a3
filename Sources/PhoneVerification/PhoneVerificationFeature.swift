package import HTTPServer
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import Logging
package import Observability
import Primitives
package import SignIn
import Storage

/// What is unsafe in the keys of providers that verify numbers.
package struct PhoneVerificationSettings: FeatureSettings {
    package init() {}

    /// A user who scans a stranger's QR code would sign in to the stranger's account from then on.
    package func contradictions(in configuration: Configuration) -> [SettingNote] {
        guard configuration.providers.contains(where: { $0.numberRules?.signsInKnown == true }) else { return [] }
        return configuration.providers.filter { $0.aggregator?.verifiesDesktops == true }.map { provider in
            (
                "providers", "\(provider.path) has desktop: on, and a provider has sign_in_known_numbers: true",
                "set one of them to off or false"
            )
        }
    }

    package func warnings(in configuration: Configuration) -> [SettingNote] {
        func notes(
            _ reason: String, _ remedy: String, if isUnsafe: (Configuration.Provider) -> Bool
        ) -> [SettingNote] {
            configuration.servers.filter(isUnsafe).map { ("providers", "\($0.path) \(reason)", remedy) }
        }
        var warned: Set<String> = []
        let proxies = configuration.requestLimits.proxies
        // Without a check of the SIM, an attacker who gets a new SIM for a user's number signs in as this user.
        return notes(
            "has no sim_swap, so a sign-in by number succeeds right after the number was moved to another SIM",
            "set sim_swap.if_swapped to refuse, or to report"
        ) { provider in
            let policy = provider.mobileOperator?.simSwap ?? provider.aggregator?.simSwap
            return warned.insert(provider.path).inserted && policy?.ifSwapped == .off
        }
            + notes(
                "has sign_in_known_numbers, so the next customer who gets a number signs in to the account that has "
                    + "verified it", "set sign_in_known_numbers to false"
            ) { $0.numberRules?.signsInKnown == true }
            + notes(
                "has desktop: on, so an attacker who makes another person scan a QR code gets that person's number "
                    + "verified; the person's own account loses it, and cannot sign in where the number is its only "
                    + "way in", "set desktop to off"
            ) { $0.aggregator?.verifiesDesktops == true }
            + configuration.providers.filter {
                $0.mobileOperator?.apis.deployment.operatorTokenPrefix == OperatorCredentials.prefix
            }.map { provider in
                (
                    "providers",
                    "\(provider.id) has operator_token_prefix: \(OperatorCredentials.prefix), so that nothing checks "
                        + "the digital credentials that apps send", "set digital_credential of the operator instead"
                )
            }
            + notes(
                "has telco_finder.by_address, which finds no phone by an address of IPv4 behind http.trusted_proxies: "
                    + "the port is not known", "set http.client_port_field"
            ) { server in
                server[TelcoFinderRules.self]?.finder.findsByAddress == true && !proxies.ranges.isEmpty
                    && proxies.portField == nil
            }
    }
}

/// Verified phone numbers (docs/verified-numbers.md): the providers of kind `camara`, at which mobile operators tell
/// the number of a device, those of the kinds `firebase_pnv` and `aggregator`, to which apps bring proofs of numbers,
/// and the verifications of signed-in users' numbers.
package struct PhoneVerificationFeature: Feature {
    private let store: SQLStore
    private let clock: WallClock
    /// Waits between two polls of a mobile operator.
    var pause = PollPauses()
    private let outcomes = PhoneVerificationOutcomes()

    package init(_ settings: PhoneVerificationSettings, in context: FeatureContext) {
        store = context.store
        clock = context.clock
    }

    package static var kinds: ProviderKinds? { ProviderDraft.kinds }

    package func group(
        of configured: [Configuration.Provider], _ server: (Configuration.Provider) -> AuthorizationServer
    ) -> (any ServerGroup)? {
        guard let provider = configured.first else { return nil }
        let numberRules = provider.numberRules ?? NumberSignInRules()
        if provider.kind == .firebasePNV { return firebase(provider.path, server(provider), numberRules) }
        if let rules = provider.aggregator { return aggregator(provider.path, server(provider), rules, numberRules) }
        guard provider.kind == .camara else { return nil }
        let operators = configured.compactMap { one in
            one.mobileOperator.map { MobileOperator(settings: $0, server: server(one)) }
        }
        let finder = configured.compactMap { other in
            other[TelcoFinderRules.self].map { OperatorFinder(rules: $0, relyingParty: server(other).relyingParty) }
        }.first
        return group(provider.path, operators, finder)
    }

    /// - Parameter provider: The name in paths.
    func group(_ provider: String, _ operators: [MobileOperator], _ finder: OperatorFinder?) -> MobileOperators {
        MobileOperators(
            provider: provider, all: operators, finder: finder, store: store,
            oneTimeStore: EncryptedOneTimeStore(store: store, clock: clock), pause: pause, outcomes: outcomes)
    }

    /// - Parameter provider: The name in paths.
    func firebase(_ provider: String, _ server: AuthorizationServer, _ rules: NumberSignInRules) -> FirebaseNumbers {
        FirebaseNumbers(provider: provider, server: server, signIns: signIns(rules))
    }

    /// - Parameter provider: The name in paths.
    func aggregator(
        _ provider: String, _ server: AuthorizationServer, _ rules: AggregatorRules, _ numberRules: NumberSignInRules
    ) -> CredentialNumbers {
        let adapter: any CredentialRedeemer =
            switch rules.adapter {
            case .sessions: SessionAggregator(server: server, rules: rules)
            }
        return CredentialNumbers(
            reference: ProviderReference(provider: provider), server: server, rules: rules,
            signIns: signIns(numberRules), redeemer: adapter)
    }

    private func signIns(_ rules: NumberSignInRules) -> NumberSignIns {
        NumberSignIns(
            rules: rules, store: store, oneTimeStore: EncryptedOneTimeStore(store: store, clock: clock))
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        VerifyPhoneNumber(api: api, store: store, outcomes: outcomes).addRoutes(to: &router, of: api)
        router.get(NumberMethods.path) { try await NumberMethods(api: api)($0) }
        router.post(
            Self.confirmationPath,
            api.admitting(.enteringOrPage) { api, request, admission in
                try await confirmSignIn(request, admission, api)
            })
    }

    package static func metrics(of feature: Self?) -> [any Metric] {
        (feature?.outcomes ?? PhoneVerificationOutcomes()).metrics
    }
}

/// What was found out beside the outcome of a verification, for the log, the metrics and the observer of failures.
struct PhoneVerificationFindings {
    let correlationID: CorrelationID
    /// Nil until the operator is known.
    var operatorName: String?
    /// Nil until the operator is asked.
    var run: SignInRun?
    /// The number that the operator is asked about.
    var number: String?
}

extension FailedOperation {
    /// Nil if the verification failed before the operator was asked.
    init?(_ findings: PhoneVerificationFindings) {
        guard let run = findings.run, run.times.last != nil else { return nil }
        self.init(.phoneVerification, run, [("phone_number", findings.number.map { .secret(Secret($0)) })])
    }
}

/// Counts the outcomes of verifications by mobile operator, and writes their log lines.
package final class PhoneVerificationOutcomes: Sendable {
    /// The most mobile operators counted separately.
    private static let capacity = 128
    /// One for all codes of the operators' own.
    private static let names = ["verified", "mismatch", "confirmed"] + SignInError.Code.allCases.map(\.rawValue)

    let metrics: [any Metric]
    private let total: BoundedRows<String, Counter>

    init() {
        let outcomes = LabelValues(
            "outcome", Self.names,
            "`verified`, `mismatch`, `confirmed` when the session presents the confirmation, or the error, with "
                + "`refused_by_carrier` for all of the mobile operators' own codes")
        let family = MetricFamily(
            "latchkey_phone_verifications_total", .counter, "Outcomes of verifications of phone numbers.",
            rows: [
                .init(
                    "operator",
                    "the name in the configuration of the mobile operator, or of a provider that has none; empty if "
                        + "the request did not come to one; `other` for all beyond \(Self.capacity)")
            ], by: [outcomes])
        total = BoundedRows(capacity: Self.capacity, other: "other") { Counter(family.row($0)) }
        metrics = [total.metric(family) { $0 }]
    }

    func note(_ verification: PhoneVerification, _ findings: PhoneVerificationFindings, in logger: Logger) {
        let code = verification.error.flatMap(SignInError.Code.init) ?? .refusedByProvider
        count(
            verification.status == .failed ? code.rawValue : verification.status.rawValue,
            at: verification.operatorName)
        write(verification.error ?? verification.status.rawValue, findings, in: logger)
    }

    func note(_ error: SignInError, _ findings: PhoneVerificationFindings, in logger: Logger) {
        count(error.code.rawValue, at: findings.operatorName)
        write(error.codeText, findings, error, in: logger)
    }

    /// The session has shown that its own browser brought the finding.
    func noteConfirmed(_ verification: PhoneVerification, _ correlationID: CorrelationID, in logger: Logger) {
        count("confirmed", at: verification.operatorName)
        write("confirmed", PhoneVerificationFindings(correlationID: correlationID), in: logger)
    }

    /// Writes a line, and counts nothing.
    /// - Parameter error: Why the verification failed, if the operator or this server is at fault.
    func write(
        _ outcome: String, _ findings: PhoneVerificationFindings, _ error: SignInError? = nil, in logger: Logger
    ) {
        var metadata: Logger.Metadata = findings.run?.notes ?? [:]
        metadata["correlation_id"] = "\(findings.correlationID)"
        metadata["outcome"] = "\(outcome)"
        if let name = findings.operatorName { metadata["operator"] = "\(name)" }
        error?.write(to: &metadata, failedAt: findings.run?.times.last)
        logger.log(level: error?.fault.logLevel ?? .info, "phone verification", metadata: metadata)
    }

    /// - Parameter operatorName: Nil if the request did not come to an operator.
    private func count(_ outcome: String, at operatorName: String?) {
        total[operatorName ?? ""].add(at: Self.names.firstIndex(of: outcome) ?? 0)
    }
}
