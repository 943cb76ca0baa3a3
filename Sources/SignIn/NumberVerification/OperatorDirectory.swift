import Crypto
import Logging
package import OpenIDConnect
import Primitives
import StorageModel
import Synchronization

/// Finds the mobile operator of a request, and says whether a number is the operator's that reports it.
///
/// An operator is always a configured one. GSMA's Telco Finder chooses among them, if a provider has one, and its
/// answers lead to no other host.
struct OperatorDirectory: UseCase {
    /// How many look-ups requests may cause: of one number, by all callers together, and by one network of callers. The
    /// limits keep a caller from finding out the operators of many numbers. One caller may use half of a number's, so
    /// that nobody can use it up for the number's owner. Only what Telco Finder is asked counts.
    static let numberAllowance = SharedAllowance(count: 10, seconds: 3600)
    static let callerAllowance = SharedAllowance(count: 60, seconds: 3600)

    let environment: Environment
    let store: any PhoneVerificationStore
    let answers: TelcoFinderAnswers

    /// Whom a request to a provider is for: the mobile operator that it chooses, or a provider without operators. A
    /// request that names no operator and no network, but a number, has the operator that Telco Finder names.
    ///
    /// - Throws: `unauthorized_client` if the caller may not use the operator's client, or no client of the provider,
    ///   and nothing is sent; `operator_unknown` if no operator fits, or Telco Finder knows none, or one that is
    ///   not configured; `invalid_request` if several could be meant; `rate_limited`; `carrier_error` and the like if
    ///   Telco Finder cannot be asked.
    func choose(
        at provider: Provider, _ choice: OperatorChoice, _ flow: FailedOperation.Flow, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignInTarget {
        try choice.caller.check(mayUseOneOf: provider.allClients)
        let name = try await operatorName(at: provider, choice, flow, correlationID)
        let target = try providers.find(ProviderReference(provider: provider.name, operatorName: name))
        try choice.caller.check(mayUseOneOf: target.server.clients.values)
        return target
    }

    /// - Returns: Nil for a provider without operators.
    private func operatorName(
        at provider: Provider, _ choice: OperatorChoice, _ flow: FailedOperation.Flow, _ correlationID: CorrelationID
    ) async throws(SignInError) -> String? {
        guard case .mobileOperators(let operators, let finder) = provider.kind else { return nil }
        guard choice.name == nil, choice.network == nil, let number = choice.number, let finder else {
            return try Self.named(by: choice, of: operators).settings.name
        }
        return try await failures.recording { () async throws(SignInError) in
            guard
                let found = try await find(
                    number, of: provider.name, finder, countedFor: choice.caller, correlationID),
                let mobileOperator = try mobileOperator(found, of: provider, correlationID)
            else { throw .operatorUnknownToFinder }
            return mobileOperator.settings.name
        } failed: { error in
            // Telco Finder was not asked.
            guard error.code != .rateLimited else { return nil }
            return FailedOperation(flow, choice, provider: provider.name, finder, correlationID)
        }
    }

    /// The operator that a request names, by itself or by a network; without either the only one.
    private static func named(
        by choice: OperatorChoice, of operators: [MobileOperator]
    ) throws(SignInError) -> MobileOperator {
        guard choice.name != nil || choice.network != nil else {
            guard let only = operators.first, operators.count == 1 else { throw .operatorNotNamed }
            return only
        }
        let found = operators.first { candidate in
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
        guard let finder = reporter.provider.finder, finder.rules.ifOtherOperator != .off else { return nil }
        let found: FoundOperator?
        do throws(SignInError) {
            found = try await find(number, of: reporter.provider.name, finder, correlationID)
        } catch {
            guard finder.rules.ifUnknown == .accept else { throw error.afterCode }
            return .unknown
        }
        guard let found else {
            guard finder.rules.ifUnknown == .accept else { throw .numberUnknownToFinder }
            return .unknown
        }
        // Also where the rules only report: an answer that contradicts the configuration says nothing.
        let owner = try mobileOperator(found, of: reporter.provider, correlationID)
        if let owner, owner.settings.name == reporter.mobileOperator?.settings.name { return .same }
        guard finder.rules.ifOtherOperator == .report else { throw .numberOfOtherOperator }
        return .other
    }

    /// What Telco Finder says of a number; nil if it does not know the number.
    /// - Parameter caller: Whose request causes it; nil if an operator has reported the number.
    private func find(
        _ number: MSISDN, of provider: String, _ finder: OperatorFinder,
        countedFor caller: CallerTerms? = nil, _ correlationID: CorrelationID
    ) async throws(SignInError) -> FoundOperator? {
        let key = answers.key(of: number, at: provider)
        if let known = answers[key, clock.now()] { return known }
        let client = finder.rules.client
        let metadata: ProviderMetadata
        do throws(OIDCError) {
            metadata = try await finder.relyingParty.provider(
                for: nil, clientID: client.id, correlationID: correlationID)
        } catch { throw .finderFailed(error) }
        if let caller { try await count(number, caller) }
        do throws(OIDCError) {
            let found = try await finder.relyingParty.findOperator(
                of: number, at: finder.rules.finder, client: client.credentials, provider: metadata,
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
        _ found: FoundOperator, of provider: Provider, _ correlationID: CorrelationID
    ) throws(SignInError) -> MobileOperator? {
        guard let mobileOperator = provider.operators.first(where: { $0.settings.finderID.hasSameBytes(as: found.id) })
        else { return nil }
        guard let issuer = mobileOperator.server.relyingParty.issuer,
            found.agrees(issuer: issuer, apis: mobileOperator.settings.apis)
        else {
            let reference = ProviderReference(provider: provider.name, operatorName: mobileOperator.settings.name)
            logger.error(
                "telco finder contradicts the configuration",
                metadata: ["correlation_id": "\(correlationID)", "provider": "\(reference.text)"])
            throw .finderContradicts
        }
        return mobileOperator
    }

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
        let wait = try await mappingStoreErrors(await store.count(uses, at: clock.now()))
        if let wait { throw .tooManyLookups(wait) }
    }
}

/// How a request chooses the operator.
package struct OperatorChoice: Sendable {
    /// The operator's name.
    package var name: String?
    /// A network that the operator serves.
    package var network: MCCMNC?
    /// A number of the operator, for Telco Finder. It chooses nothing beside a name or a network.
    package var number: MSISDN?
    /// Whose operators there are to choose from.
    package var caller: CallerTerms

    package init(
        name: String?, network: MCCMNC?, number: MSISDN? = nil, caller: CallerTerms = CallerTerms()
    ) {
        self.name = name
        self.network = network
        self.number = number
        self.caller = caller
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
