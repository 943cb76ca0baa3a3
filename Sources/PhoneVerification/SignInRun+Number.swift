import OpenIDConnect
import Primitives
import SignIn
import Synchronization

/// The number of a user's device, from the mobile operator.
extension SignInRun {
    /// What the operator says of the device: the ID token, if it issues one, then the number and its SIM. The access
    /// token is for the one call that asks for the number. Telco Finder is asked whose number it is.
    /// - Parameter asked: The number that is compared with the device's; nil to be told the number.
    /// - Returns: The number, the ID token if the operator issues one, and its SIM if the operator was asked about it.
    ///   Nil if the device has another number than `asked`.
    func number(
        _ asked: MSISDN? = nil, from mobileOperator: MobileOperatorSettings, with tokens: TokenResponse,
        at provider: ProviderMetadata, _ directory: OperatorDirectory
    ) async throws(SignInError) -> (number: MSISDN, idToken: VerifiedIDToken?, sim: SIMSwapFinding?)? {
        let idToken = tokens.idToken == nil ? nil : try await validate(tokens, from: provider)
        begin(.number)
        let number: MSISDN
        if let asked {
            let isOfDevice = try await askingOperator(
                await relyingParty.isDevicePhoneNumber(
                    asked, hashed: mobileOperator.takesHashes, at: mobileOperator.apis, with: tokens,
                    provider: provider, correlationID: correlationID), codeWasPosted: true)
            guard isOfDevice else { return nil }
            number = asked
        } else {
            number = try await askingOperator(
                await relyingParty.devicePhoneNumber(
                    at: mobileOperator.apis, with: tokens, provider: provider, correlationID: correlationID),
                codeWasPosted: true)
        }
        if directory.operators.finder != nil { begin(.telcoFinder) }
        let owner = try await directory.check(number, reportedBy: target, correlationID)
        if let owner { note(owner.rawValue, as: "telco_finder") }
        begin(.simSwap)
        let sim = try await checkSIM(of: number, by: mobileOperator, at: provider)
        if let sim { note(sim.rawValue, as: "sim_swap") }
        return (number, idToken, sim)
    }

    /// Asks the operator whether the SIM of the number was changed, if the policy says so. The answer is for this
    /// number at this moment: it is not kept.
    /// - Throws: `sim_swapped` if the policy refuses; the operator's failure if the policy refuses what is not known.
    private func checkSIM(
        of number: MSISDN, by mobileOperator: MobileOperatorSettings, at provider: ProviderMetadata
    ) async throws(SignInError) -> SIMSwapFinding? {
        let policy = mobileOperator.simSwap
        guard policy.ifSwapped != .off else { return nil }
        do throws(OIDCError) {
            let isSwapped = try await relyingParty.isSIMSwapped(
                of: number, withinHours: policy.maximumAge, scopes: mobileOperator.scopes(for: .checkSIMSwap),
                at: mobileOperator.apis, client: client.credentials, provider: provider, correlationID: correlationID)
            guard isSwapped else { return .unchanged }
        } catch {
            guard policy.ifUnknown == .accept else { throw .refusedTokens(error, codeWasPosted: true) }
            return .unknown
        }
        guard policy.ifSwapped == .report else { throw .simSwapped(withinHours: policy.maximumAge) }
        return .swapped
    }
}

/// What is known of the SIM of a number at a sign-in. The raw value is its name in the log.
enum SIMSwapFinding: String {
    /// The SIM is the same for as long as the policy asks.
    case unchanged
    case swapped
    /// The operator did not tell.
    case unknown
}

/// The tokens of an operator: for a code, or for a TS.43 temporary token, which works over any network.
extension SignInRun {
    /// - Parameters:
    ///   - scopes: What an operator token is exchanged for, with exactly one purpose.
    ///   - mobileOperator: Whose token it is.
    func tokens(
        for scopes: [String], of mobileOperator: MobileOperatorSettings, at provider: ProviderMetadata,
        pausing pause: PollPauses
    ) async throws(SignInError) -> TokenResponse {
        guard request.standsInForCode else { return try await askingOperator(await redeemCode(at: provider)) }
        return try await tokens(
            about: try mobileOperator.hint(for: request.code), for: scopes, at: provider, pausing: pause)
    }

    /// How long the operator may take to authenticate the device, in seconds: an app waits for it.
    static let patience: Int64 = 20

    /// Exchanges the operator token, in the way that the operator's metadata says: for a JWT, or without a page by a
    /// backchannel authentication (CIBA Core section 7.1). It is spent then: neither request is repeated.
    /// - Parameter hint: The token, with what says that it is one.
    func tokens(
        about hint: Secret, for scopes: [String], at provider: ProviderMetadata, pausing pause: PollPauses
    ) async throws(SignInError) -> TokenResponse {
        begin(.token)
        guard provider.takesOperatorTokensByBackchannel else {
            return try await askingOperator(
                await relyingParty.tokens(
                    about: hint, scopes: scopes, client: client.credentials, provider: provider,
                    correlationID: correlationID))
        }
        let started = try await askingOperator(
            await relyingParty.authenticate(
                BackchannelAuthenticationRequest(scopes: scopes, hint: .loginHint(hint)), client: client.credentials,
                signedWith: client.rules.signingKey, provider: provider, correlationID: correlationID),
            codeWasPosted: true)
        return try await poll(started, at: provider, pause)
    }

    /// Asks for the tokens until they are there, never faster than the operator allows (CIBA Core section 7.3). The
    /// first time at once: usually the SIM has said all there is to say.
    private func poll(
        _ started: BackchannelAuthenticationResponse, at provider: ProviderMetadata, _ pause: PollPauses
    ) async throws(SignInError) -> TokenResponse {
        var interval = started.interval
        let clock = environment.clock
        let end = clock.now().advanced(bySeconds: min(started.expiresIn, Self.patience))
        while true {
            let response = try await askingOperator(
                await relyingParty.poll(
                    started.requestID, client: client.credentials, requiresIDToken: false, provider: provider,
                    correlationID: correlationID), codeWasPosted: true)
            switch response {
            case .tokens(let tokens): return tokens
            case .pending: break
            case .slowDown: interval += BackchannelTokenResponse.slowDownSeconds
            }
            guard clock.now().advanced(bySeconds: interval) < end,
                await pause(.seconds(interval), at: request.provider.text)
            else { throw .deviceNotAuthenticated }
        }
    }
}

extension MobileOperatorSettings {
    /// The hint for the user of an operator token (CAMARA Security and Interoperability Profile r4.2, section "Format
    /// of login_hint").
    /// - Throws: `invalid_request` for a token that the operator could read as another hint, such as somebody's number,
    ///   because nothing before it says what it is.
    fileprivate func hint(for token: Secret) throws(SignInError) -> Secret {
        let prefix = apis.deployment.operatorTokenPrefix
        let text = token.exposed
        let isToken = !text.hasPrefix("+") && !text.contains(":") && text.utf8.contains(where: \.isASCIILetter)
        guard prefix.hasSuffix(":") || isToken else { throw .operatorTokenIsHint }
        return Secret(prefix + text)
    }
}

/// Asks an operator; its failure becomes the use case's own error.
func askingOperator<Value>(
    _ call: @autoclosure () async throws(OIDCError) -> Value, codeWasPosted: Bool = false
) async throws(SignInError) -> Value {
    do throws(OIDCError) {
        return try await call()
    } catch {
        throw .refusedTokens(error, codeWasPosted: codeWasPosted)
    }
}

/// The pauses between two polls of a mobile operator, of a limited number of sign-ins at each operator.
///
/// A sign-in goes on when its client closes the connection, so that no limit of connections bounds those that wait: an
/// operator that keeps every token pending would collect them.
final class PollPauses: Sendable {
    /// By the keys of the operators.
    private let waiting = Mutex<[String: Int]>([:])
    private let limit: Int
    private let sleep: @Sendable (Duration) async -> Bool

    /// - Parameters:
    ///   - limit: The most sign-ins that may wait at one operator.
    ///   - sleep: Waits; false if the task was cancelled.
    init(
        limit: Int = 256,
        sleep: @escaping @Sendable (Duration) async -> Bool = { (try? await Task.sleep(for: $0)) != nil }
    ) {
        self.limit = limit
        self.sleep = sleep
    }

    /// - Parameter key: The operator's.
    /// - Returns: False if the task was cancelled, or at once if too many sign-ins wait at the operator.
    func callAsFunction(_ duration: Duration, at key: String) async -> Bool {
        let isAdmitted = waiting.withLock { waiting in
            let count = waiting[key] ?? 0
            guard count < limit else { return false }
            waiting[key] = count + 1
            return true
        }
        guard isAdmitted else { return false }
        defer {
            waiting.withLock { waiting in
                let count = (waiting[key] ?? 1) - 1
                waiting[key] = count > 0 ? count : nil
            }
        }
        return await sleep(duration)
    }
}
