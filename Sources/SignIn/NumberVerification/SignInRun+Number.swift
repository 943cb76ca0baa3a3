import OpenIDConnect
import Primitives
import StorageModel

/// The number of a user's device, from the mobile operator.
extension SignInRun {
    /// What the operator says of the device: the ID token, if it issues one, then the number and its SIM. The access
    /// token is for the one call that asks for the number. Telco Finder is asked whose number it is.
    /// - Parameter asked: The number that is compared with that of the device; nil to be told the number.
    /// - Returns: Nil if the device has another number than `asked`.
    func number(
        _ asked: MSISDN? = nil, from mobileOperator: MobileOperator.Settings, with tokens: TokenResponse,
        at provider: ProviderMetadata, _ operators: OperatorDirectory
    ) async throws(SignInError) -> (MSISDN, VerifiedIDToken?)? {
        let idToken = tokens.idToken == nil ? nil : try await validate(tokens, from: provider)
        begin(.number)
        let number: MSISDN
        if let asked {
            guard try await isDeviceNumber(asked, at: mobileOperator, with: tokens, at: provider) else { return nil }
            number = asked
        } else {
            number = try await fetchNumber(from: mobileOperator, with: tokens, at: provider)
        }
        if target.provider.finder != nil { begin(.telcoFinder) }
        log.operatorFinding = try await operators.check(number, reportedBy: target, correlationID)
        begin(.simSwap)
        log.simSwap = try await checkSIM(of: number, by: mobileOperator, at: provider)
        return (number, idToken)
    }

    /// Asks the operator for the number, with an access token that is used for this one call.
    private func fetchNumber(
        from mobileOperator: MobileOperator.Settings, with tokens: TokenResponse,
        at provider: ProviderMetadata
    ) async throws(SignInError) -> MSISDN {
        try await asked(
            await relyingParty.devicePhoneNumber(
                at: mobileOperator.apis, with: tokens, provider: provider, correlationID: correlationID),
            codeWasPosted: true)
    }

    /// Asks the operator whether a number is that of the device, with an access token that is used for this one call.
    private func isDeviceNumber(
        _ number: MSISDN, at mobileOperator: MobileOperator.Settings, with tokens: TokenResponse,
        at provider: ProviderMetadata
    ) async throws(SignInError) -> Bool {
        try await asked(
            await relyingParty.isDevicePhoneNumber(
                number, hashed: mobileOperator.takesHashes, at: mobileOperator.apis, with: tokens, provider: provider,
                correlationID: correlationID), codeWasPosted: true)
    }

    /// Asks the operator whether the SIM of the number was changed, if the policy says so. The answer is for this
    /// number at this moment: it is not kept.
    /// - Throws: `sim_swapped` if the policy refuses; the operator's failure if the policy refuses what is not known.
    private func checkSIM(
        of number: MSISDN, by mobileOperator: MobileOperator.Settings, at provider: ProviderMetadata
    ) async throws(SignInError) -> SIMSwapFinding? {
        let policy = mobileOperator.simSwap
        guard policy.ifSwapped != .off else { return nil }
        do throws(OIDCError) {
            let isSwapped = try await relyingParty.isSIMSwapped(
                of: number, withinHours: policy.maximumAge, for: mobileOperator.purpose, at: mobileOperator.apis,
                client: client.credentials, provider: provider, correlationID: correlationID)
            guard isSwapped else { return .unchanged }
        } catch {
            guard policy.ifUnknown == .accept else { throw .refusedTokens(error, codeWasPosted: true) }
            return .unknown
        }
        guard policy.ifSwapped == .report else { throw .simSwapped(withinHours: policy.maximumAge) }
        return .swapped
    }
}

extension VerifiedSignIn {
    /// A user whom a mobile operator knows by the number of the device.
    ///
    /// - Parameters:
    ///   - idToken: Names the user. Without one the number does: it may become another person's one day.
    ///   - issuer: The operator's.
    ///   - use: Marks the operator token as used.
    convenience init(_ number: MSISDN, _ idToken: VerifiedIDToken?, issuer: String, _ use: OneTimeRecord?) {
        var userInfo = UserInfo()
        userInfo.attributes[.phoneNumber] = number.text
        userInfo.phoneNumberVerified = true
        // No ID token can have this subject: it has a space (``IDTokenCheck/subject``).
        let subject = idToken?.subject ?? "number " + number.text
        self.init(
            Identity(issuer: issuer, subject: subject), userInfo, provenPhoneNumber: number.text, operatorTokenUse: use)
    }
}

/// What is known of the SIM of a number at a sign-in. The raw value is its name in the log.
package enum SIMSwapFinding: String, Sendable, Hashable {
    /// The SIM is the same for as long as the policy asks.
    case unchanged
    /// The SIM was changed.
    case swapped
    /// The operator did not tell.
    case unknown
}
