import Logging
import OpenIDConnect
import Primitives
import StorageModel

/// Finds the mobile operator of a request, and says whether a number is the operator's that reports it.
///
/// An operator is always a configured one. GSMA's Telco Finder chooses among them, if a provider has one, and its
/// answers lead to no other host.
struct OperatorDirectory: Sendable {
    typealias MobileOperator = SignInConfiguration.MobileOperator

    /// How many look-ups requests may cause: of one number, by all callers together, and by one network of callers. The
    /// limits keep a caller from finding out the operators of many numbers. One caller may use half of a number's, so
    /// that nobody can use it up for the number's owner. Only what Telco Finder is asked counts.
    static let numberAllowance = SharedAllowance(count: 10, seconds: 3600)
    static let callerAllowance = SharedAllowance(count: 60, seconds: 3600)

    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let store: any PhoneVerificationStore
    let answers: TelcoFinderAnswers
    let clock: WallClock
    let logger: Logger
    /// Keeps capsules of failures; nil if none are made.
    let capsules: CapsuleRecorder?

    /// The name under which the configuration has what a name in paths stands for, as
    /// ``SignInConfiguration/key(ofProvider:for:)`` says. A request that names no operator and no network, but a
    /// number, has the operator that Telco Finder names.
    ///
    /// - Throws: `unauthorized_client` if the caller may not use the operator's client, or no client of the provider,
    ///   and then nobody was asked; `operator_unknown` if Telco Finder knows no operator, or one that is not
    ///   configured; `rate_limited`; `carrier_error` and the like if Telco Finder cannot be asked; what the other way
    ///   throws.
    func key(
        ofProvider name: String, for choice: OperatorChoice, _ flow: CapsuleFlow, _ correlationID: CorrelationID
    ) async throws(SignInError) -> String {
        try configuration.check(choice.caller, mayUse: name)
        let key = try await chosenKey(ofProvider: name, for: choice, flow, correlationID)
        try configuration.check(choice.caller, mayUse: key)
        return key
    }

    private func chosenKey(
        ofProvider name: String, for choice: OperatorChoice, _ flow: CapsuleFlow, _ correlationID: CorrelationID
    ) async throws(SignInError) -> String {
        guard choice.name == nil, choice.network == nil, let number = choice.number,
            let rules = configuration.telcoFinders[name]
        else { return try configuration.key(ofProvider: name, for: choice) }
        return try await capsules.recording { () async throws(SignInError) in
            guard let found = try await find(number, of: name, rules, countedFor: choice.caller, correlationID),
                let mobileOperator = try mobileOperator(found, of: name, correlationID)
            else { throw .operatorUnknownToFinder }
            return mobileOperator.key
        } failed: { error in
            // Telco Finder was not asked.
            guard error.code != .rateLimited else { return nil }
            let finder = relyingParties[SignInConfiguration.TelcoFinderRules.key(of: name)]
            return CapsuleSubject(flow, choice, provider: name, rules, finder, correlationID)
        }
    }

    /// Asks Telco Finder whether a number is that of the operator that reports it, if the provider says so.
    /// - Throws: `carrier_error` if it is another operator's, or if Telco Finder does not tell, as far as the rules
    ///   refuse that.
    func check(
        _ number: MSISDN, reportedBy reporter: MobileOperator, _ correlationID: CorrelationID
    ) async throws(SignInError) -> OperatorFinding? {
        guard let rules = configuration.telcoFinders[reporter.provider], rules.ifOtherOperator != .off else {
            return nil
        }
        let found: FoundOperator?
        do throws(SignInError) {
            found = try await find(number, of: reporter.provider, rules, correlationID)
        } catch {
            guard rules.ifUnknown == .accept else { throw error.afterCode }
            return .unknown
        }
        guard let found else {
            guard rules.ifUnknown == .accept else { throw .numberUnknownToFinder }
            return .unknown
        }
        // Also where the rules only report: an answer that contradicts the configuration says nothing.
        let owner = try mobileOperator(found, of: reporter.provider, correlationID)
        if owner?.key == reporter.key { return .same }
        guard rules.ifOtherOperator == .report else { throw .numberOfOtherOperator }
        return .other
    }

    /// What Telco Finder says of a number; nil if it does not know the number.
    /// - Parameter caller: Whose request causes it; nil if an operator has reported the number.
    private func find(
        _ number: MSISDN, of provider: String, _ rules: SignInConfiguration.TelcoFinderRules,
        countedFor caller: CallerTerms? = nil, _ correlationID: CorrelationID
    ) async throws(SignInError) -> FoundOperator? {
        let key = answers.key(of: number, at: provider)
        if let known = answers[key, clock.now()] { return known }
        guard let relyingParty = relyingParties[SignInConfiguration.TelcoFinderRules.key(of: provider)] else {
            throw .internalFault
        }
        let metadata: ProviderMetadata
        do throws(OIDCError) {
            metadata = try await relyingParty.provider(
                for: nil, clientID: rules.client.id, correlationID: correlationID)
        } catch { throw .finderFailed(error) }
        if let caller { try await count(number, caller) }
        do throws(OIDCError) {
            let found = try await relyingParty.findOperator(
                of: number, at: rules.finder, client: rules.client.credentials, provider: metadata,
                correlationID: correlationID)
            answers.keep(found, under: key, at: clock.now())
            return found
        } catch {
            if let code = error.carrierError, error.code == .apiRefused,
                OperatorAPIRefusal(code: code) == .unknownNumber
            {
                return nil
            }
            throw .finderFailed(error)
        }
    }

    /// The configured operator of an answer; nil if it is not configured.
    /// - Throws: `carrier_error` if the answer says something else of the operator than the configuration.
    private func mobileOperator(
        _ found: FoundOperator, of provider: String, _ correlationID: CorrelationID
    ) throws(SignInError) -> MobileOperator? {
        for (key, entry) in configuration.providers {
            guard let mobileOperator = entry.mobileOperator, mobileOperator.provider == provider,
                mobileOperator.finderID.hasSameBytes(as: found.id)
            else { continue }
            guard let issuer = relyingParties[key]?.issuer,
                found.agrees(issuer: issuer, apis: mobileOperator.apis)
            else {
                logger.error(
                    "telco finder contradicts the configuration",
                    metadata: ["correlation_id": "\(correlationID)", "provider": "\(key)"])
                throw .finderContradicts
            }
            return mobileOperator
        }
        return nil
    }

    /// Counts a lookup of a number.
    private func count(_ number: MSISDN, _ caller: CallerTerms) async throws(SignInError) {
        let ofNumber = "operator lookup of number \(number.text)"
        var uses = [AllowanceUse(of: ofNumber, Self.numberAllowance)]
        if let id = caller.id {
            uses.append(
                AllowanceUse(of: "\(ofNumber) by \(Base64URL.encode(id.bytes))", Self.numberAllowance.half))
        }
        if let subnet = caller.subnet {
            uses.append(AllowanceUse(of: "operator lookup by \(subnet.high) \(subnet.low)", Self.callerAllowance))
        }
        let wait = try await stored(await store.countPhoneVerification(for: uses, at: clock.now()))
        if let wait { throw .tooManyLookups(wait) }
    }
}
