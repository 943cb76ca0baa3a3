import Crypto
import Logging
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// The mobile operators of a provider, for one request: finds its operator, and says whether a number is the operator's
/// that reports it.
///
/// An operator is always a configured one. GSMA's Telco Finder chooses among them, if a provider has one, and its
/// answers lead to no other host.
struct OperatorDirectory {
    /// How many look-ups requests may cause: of one number, by all callers together, and by one network of callers. The
    /// limits keep a caller from finding out the operators of many numbers. One caller may use half of a number's
    /// allowance, so the owner of the number keeps the other half. Only questions to Telco Finder count.
    static let numberAllowance = SharedAllowance(count: 10, seconds: 3600)
    static let callerAllowance = SharedAllowance(count: 60, seconds: 3600)
    /// How many look-ups of their own addresses one network of callers may cause. Many phones share a network.
    static let addressAllowance = SharedAllowance(count: 600, seconds: 3600)

    let operators: MobileOperators
    let environment: Environment

    /// The mobile operator that a request chooses. A request that names no operator and no network has the operator
    /// that Telco Finder names for its number, or, where that is configured, for the address that it comes from.
    ///
    /// - Throws: `unauthorized_client` if the caller may not use the operator's client, or no client of the provider,
    ///   and nothing is sent; `operator_unknown` if no operator fits, several could be meant, or Telco Finder knows
    ///   none, or one that is not configured; `rate_limited`; `carrier_error` and the like if Telco Finder cannot be
    ///   asked.
    func choose(
        _ choice: OperatorChoice, _ flow: FailedOperation.Flow, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignInTarget {
        try choice.caller.check(mayUseOneOf: operators.all.flatMap(\.server.clients.values))
        let name = try await operatorName(choice, flow, correlationID)
        let target = try environment.providers.find(reference(of: name))
        try choice.caller.check(mayUseOneOf: target.server.clients.values)
        return target
    }

    private func reference(of operatorName: String) -> ProviderReference {
        ProviderReference(provider: operators.provider, operatorName: operatorName)
    }

    private func operatorName(
        _ choice: OperatorChoice, _ flow: FailedOperation.Flow, _ correlationID: CorrelationID
    ) async throws(SignInError) -> String {
        guard let subscriber = operators.subscriber(of: choice), let finder = operators.finder
        else { return try named(by: choice).settings.name }
        return try await environment.failures.recording { () async throws(SignInError) in
            guard let found = try await find(subscriber, finder, countedFor: choice.caller, correlationID),
                let mobileOperator = try mobileOperator(found, correlationID)
            else { throw .operatorUnknownToFinder }
            return mobileOperator.settings.name
        } failed: { error in
            // Telco Finder was not asked.
            guard error.code != .rateLimited else { return nil }
            var times = StepTimes()
            times.begin(.telcoFinder)
            // Only a verification is certain to have a session: a sign-in can be one of a page, without an API key.
            return FailedOperation(
                flow: flow, correlationID: correlationID.text, provider: operators.provider,
                client: finder.rules.client, relyingParty: finder.relyingParty, network: nil, times: times,
                requested: subscriber.number.map { [("phone_number", .secret(Secret($0.text)))] } ?? [],
                origin: flow == .phoneVerification ? .known : .keyless)
        }
    }

    /// The operator that a request names, by itself or by a network; without either the only one.
    private func named(by choice: OperatorChoice) throws(SignInError) -> MobileOperator {
        guard choice.name != nil || choice.network != nil else {
            guard let only = operators.all.first, operators.all.count == 1 else { throw .operatorNotNamed }
            return only
        }
        let found = operators.all.first { candidate in
            (choice.name.map { candidate.settings.name.hasSameBytes(as: $0) } ?? true)
                && (choice.network.map(candidate.settings.networks.contains) ?? true)
        }
        guard let found else { throw .operatorUnknown }
        return found
    }

    /// Asks Telco Finder whether a number belongs to the operator that reports it, if the provider says so.
    /// - Throws: `carrier_error` if it is another operator's, or if Telco Finder does not tell, as far as the rules
    ///   refuse that.
    func check(
        _ number: MSISDN, reportedBy reporter: SignInTarget, _ correlationID: CorrelationID
    ) async throws(SignInError) -> OperatorFinding? {
        guard let finder = operators.finder, finder.rules.ifOtherOperator != .off else { return nil }
        let found: FoundOperator?
        do throws(SignInError) {
            found = try await find(.number(number), finder, correlationID)
        } catch {
            guard finder.rules.ifUnknown == .accept else { throw error.afterCode }
            return .unknown
        }
        guard let found else {
            guard finder.rules.ifUnknown == .accept else { throw .numberUnknownToFinder }
            return .unknown
        }
        // Also where the rules only report: an answer that contradicts the configuration says nothing.
        let owner = try mobileOperator(found, correlationID)
        if let owner, owner.settings.name == reporter.reference.operatorName { return .same }
        guard finder.rules.ifOtherOperator == .report else { throw .numberOfOtherOperator }
        return .other
    }

    /// What Telco Finder says of a subscriber; nil if it does not know one.
    /// - Parameter caller: Whose request causes it; nil if an operator has reported the number.
    private func find(
        _ subscriber: SoughtSubscriber, _ finder: OperatorFinder, countedFor caller: CallerTerms? = nil,
        _ correlationID: CorrelationID
    ) async throws(SignInError) -> FoundOperator? {
        // Soon another phone may have the address.
        let key = subscriber.number.map { operators.answers.key(of: $0, at: operators.provider) }
        if let key, let known = operators.answers[key, environment.clock.now()] { return known }
        let client = finder.rules.client
        let metadata: ProviderMetadata
        do throws(OIDCError) {
            metadata = try await finder.relyingParty.provider(
                for: nil, clientID: client.id, correlationID: correlationID)
        } catch { throw .finderFailed(error) }
        if let caller { try await count(subscriber, caller) }
        do throws(OIDCError) {
            let found = try await finder.relyingParty.findOperator(
                of: subscriber, at: finder.rules.finder, client: client.credentials, provider: metadata,
                correlationID: correlationID)
            if let key { operators.answers.keep(found, under: key, at: environment.clock.now()) }
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
        _ found: FoundOperator, _ correlationID: CorrelationID
    ) throws(SignInError) -> MobileOperator? {
        guard let mobileOperator = operators.all.first(where: { $0.settings.finderID.hasSameBytes(as: found.id) })
        else { return nil }
        guard let issuer = mobileOperator.server.relyingParty.issuer,
            found.agrees(issuer: issuer, apis: mobileOperator.settings.apis)
        else {
            let reference = reference(of: mobileOperator.settings.name)
            environment.logger.error(
                "telco finder contradicts the configuration",
                metadata: ["correlation_id": "\(correlationID)", "provider": "\(reference.text)"])
            throw .finderContradicts
        }
        return mobileOperator
    }

    private func count(_ subscriber: SoughtSubscriber, _ caller: CallerTerms) async throws(SignInError) {
        var uses: [AllowanceUse] = []
        if let number = subscriber.number {
            let ofNumber = "operator lookup of number \(number.text)"
            uses.append(AllowanceUse(of: ofNumber, Self.numberAllowance))
            if let id = caller.id {
                uses.append(
                    AllowanceUse(of: "\(ofNumber) by \(Base64URL.encode(id.bytes))", Self.numberAllowance.half))
            }
        }
        if let subnet = caller.subnet {
            let (what, allowance) =
                subscriber.number == nil ? ("address", Self.addressAllowance) : ("operator", Self.callerAllowance)
            uses.append(AllowanceUse(of: "\(what) lookup by \(subnet.high) \(subnet.low)", allowance))
        }
        let wait = try await mappingStoreErrors(await operators.store.count(uses, at: environment.clock.now()))
        if let wait { throw .tooManyLookups(wait) }
    }
}

/// How a request chooses the operator.
struct OperatorChoice: Sendable {
    var name: String?
    /// A network that the operator serves.
    var network: MCCMNC?
    /// A number of the operator, for Telco Finder. It chooses nothing beside a name or a network.
    var number: MSISDN?
    /// Whose operators there are to choose from.
    var caller = CallerTerms()
}

/// By what Telco Finder finds an operator.
enum SoughtSubscriber: Sendable {
    case number(MSISDN)
    /// The public address and port that a phone comes from: phones of a mobile network share addresses of IPv4.
    case ipv4(IPAddress, port: UInt16)
    case ipv6(IPAddress)

    var number: MSISDN? {
        guard case .number(let number) = self else { return nil }
        return number
    }
}

extension MobileOperators {
    /// By what Telco Finder is asked for the operator of a request; nil if it is not asked.
    func subscriber(of choice: OperatorChoice) -> SoughtSubscriber? {
        guard let finder, choice.name == nil, choice.network == nil else { return nil }
        if let number = choice.number { return .number(number) }
        // One operator needs no choice, and an address of a private network is nobody's.
        guard finder.rules.finder.findsByAddress, all.count > 1, let address = choice.caller.address,
            address.scope == .global
        else { return nil }
        guard address.isIPv4 else { return .ipv6(address) }
        return choice.caller.port.map { .ipv4(address, port: $0) }
    }
}

/// The answers of Telco Finder that may be kept for a while. In memory only, and without the numbers: a number is known
/// by its hash with a key that only this process has.
final class TelcoFinderAnswers: Sendable {
    /// How many answers are kept; some 300 bytes each.
    static let capacity = 10_000

    private struct Answer: Sendable {
        let found: FoundOperator
        let since: Timestamp
        let until: Timestamp
    }

    private let secret = SymmetricKey(size: .bits256)
    private let answers = Mutex(BoundedCache<TokenHash, Answer>(capacity: capacity))

    /// The HMAC-SHA256 of a number and of the provider that asks.
    func key(of number: MSISDN, at provider: String) -> TokenHash {
        TokenHash(hmacOf: provider + "\n" + number.text, key: secret)
    }

    /// The answer about a number, if one may still be used. After a clock that was set back none may.
    subscript(key: TokenHash, now: Timestamp) -> FoundOperator? {
        guard let answer = answers.withLock({ $0[key] }), answer.since <= now, now < answer.until else { return nil }
        return answer.found
    }

    /// Keeps an answer as long as it says.
    func keep(_ found: FoundOperator, under key: TokenHash, at now: Timestamp) {
        guard found.lifetime > 0 else { return }
        let answer = Answer(found: found, since: now, until: now.advanced(bySeconds: found.lifetime))
        answers.withLock { $0.put(answer, for: key) }
    }
}

/// What Telco Finder says of the operator that reports a number. The raw value is its name in the log.
enum OperatorFinding: String {
    /// The number is this operator's.
    case same
    /// The number is another operator's.
    case other
    /// Telco Finder did not tell.
    case unknown
}

/// Verifications of a signed-in user's number: what the operator says.
extension OperatorDirectory {
    /// Counts a verification for its number, because the operator is about to be asked.
    /// - Throws: `rate_limited`, and then the operator must not be asked.
    func count(_ subject: PhoneVerification) async throws(SignInError) {
        assert(subject.status == .pending, "the operator is asked before a verification has ended")
        let uses = AllowanceUse.ofVerification(of: subject.phoneNumber.flatMap(MSISDN.init), by: subject.user)
        guard !uses.isEmpty else { return }
        let wait = try await mappingStoreErrors(await operators.store.count(uses, at: environment.clock.now()))
        if let wait { throw .tooManyVerifications(wait) }
    }

    /// What the operator says of a verification. What it refuses is an outcome.
    /// - Throws: If it does not respond as it should: nothing is known then.
    func outcome(
        of subject: PhoneVerification, _ run: SignInRun, at provider: ProviderMetadata,
        _ findings: PhoneVerificationFindings
    ) async throws(SignInError) -> PhoneVerification {
        do throws(SignInError) {
            return try await answer(to: subject, run, at: provider)
        } catch {
            guard error.fault == .client else { throw error }
            await environment.failures.note(FailedOperation(findings), error)
            return subject.failed(
                error.codeText, simSwapped: error.code == .simSwapped ? true : nil, at: environment.clock.now())
        }
    }

    private func answer(
        to subject: PhoneVerification, _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> PhoneVerification {
        let mobileOperator = try operators.mobileOperator(of: run.target)
        let asked = subject.phoneNumber.flatMap(MSISDN.init)
        let tokens = try await run.tokens(
            for: mobileOperator.scopes(toVerify: asked), of: mobileOperator, at: provider, pausing: operators.pause)
        guard let found = try await run.number(asked, from: mobileOperator, with: tokens, at: provider, self)
        else { return subject.ended(.mismatch, phoneNumber: asked?.text, simSwapped: nil, at: environment.clock.now()) }
        return subject.ended(
            .verified, phoneNumber: found.number.text,
            simSwapped: found.sim == .unknown ? nil : found.sim.map { $0 == .swapped },
            at: environment.clock.now())
    }

    /// Keeps what a browser brought back: the operator's answer, or why there is none.
    /// - Parameter request: With the code, or what is wrong with the authorization response.
    /// - Returns: The confirmation, for the app on the browser's device.
    /// - Throws: `not_found` if the verification has ended, or its session; then the operator is not asked.
    func keepFinding(
        of id: Secret, _ request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID
    ) async throws(SignInError) -> Secret {
        let hash = TokenHash(sha256Of: id.exposed)
        let subject = try await mappingStoreErrors(
            await operators.store.pendingPhoneVerification(hash, at: environment.clock.now()))
        guard let subject else { throw .noSuchVerification }
        var findings = PhoneVerificationFindings(correlationID: correlationID, operatorName: subject.operatorName)
        let (outcome, issuer) = await finding(of: subject, request, &findings)
        let confirmation = Secret(environment.random.token())
        let now = environment.clock.now()
        let isKept = try await mappingStoreErrors(
            await operators.store.addPhoneVerificationFinding(
                outcome, by: issuer, confirmation: TokenHash(sha256Of: confirmation.exposed),
                until: now.advanced(bySeconds: PhoneVerification.confirmationTime), at: now))
        guard isKept else { throw .noSuchVerification }
        operators.outcomes.note(outcome, findings, in: environment.logger)
        return confirmation
    }

    /// What the operator says, with its issuer. The state and the code are spent, so that any failure is final.
    private func finding(
        of subject: PhoneVerification, _ request: Result<SignInRequest, SignInError>,
        _ findings: inout PhoneVerificationFindings
    ) async -> (PhoneVerification, issuer: String) {
        do throws(SignInError) {
            let run = try SignInRun(try request.get(), findings.correlationID, in: environment)
            findings.run = run
            findings.number = subject.phoneNumber
            let provider = try await run.discoverProvider()
            try await count(subject)
            return (try await outcome(of: subject, run, at: provider, findings), provider.issuer)
        } catch {
            if error.code != .rateLimited { await environment.failures.note(FailedOperation(findings), error) }
            if error.fault != .client {
                operators.outcomes.write(error.codeText, findings, error, in: environment.logger)
            }
            return (subject.failed(error.codeText, at: environment.clock.now()), "")
        }
    }
}
