public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A verification by redirects that has begun: open ``url`` in a browser over the cellular network, and pass the
/// callback URL to ``Latchkey/finish(_:callback:)->PhoneVerification``. It can be encoded, because the system may end
/// the app meanwhile.
public struct RedirectVerification: Sendable, Hashable, Codable {
    /// The identifier for ``Latchkey/phoneVerification(_:)``.
    public let id: String
    /// The URL for the browser: that of the operator.
    public let url: URL
    let redirectURI: String

    /// The scheme of the callback URL, for `ASWebAuthenticationSession`.
    public var callbackScheme: String { String(redirectURI.prefix { $0 != ":" }) }
}

/// Verification of the signed-in user's phone number by a mobile operator.
extension Latchkey {
    /// Asks the operator whether this device has a phone number, without a page. If it has, the number is the user's,
    /// verified.
    ///
    /// The operator recognises the phone by its connection over `network`. If it does not, and `operatorToken` returns
    /// a token, the operator recognises the SIM.
    /// - Parameters:
    ///   - number: With `+` and country code; nil for the number of the profile.
    ///   - redirectURI: One of the provider's redirect URIs. It is not opened.
    ///   - operatorToken: Gets a TS.43 operator token from the operator; nil if it cannot.
    /// - Throws: ``LatchkeyError/Code/cellularUnavailable`` or ``LatchkeyError/Code/authorizationStopped`` if there is
    ///   no operator token; the error of a call.
    public func verifyPhoneNumber(
        _ number: String? = nil, to redirectURI: String, at mobileOperator: MobileOperator = MobileOperator(),
        over network: any CellularNetwork, operatorToken: (@Sendable () async -> String?)? = nil
    ) async throws(LatchkeyError) -> PhoneVerification {
        let byNetwork: Result<PhoneVerification, LatchkeyError>
        do throws(LatchkeyError) {
            let pending = try await startVerification(of: number, to: redirectURI, at: mobileOperator)
            let callback = try await visit(to: redirectURI, over: network).callback(from: pending.url)
            let verification = try await finish(pending, callback: callback)
            guard verification.error == .notOnMobileNetwork else { return verification }
            byNetwork = .success(verification)
        } catch {
            guard error.leavesSIM else { throw error }
            byNetwork = .failure(error)
        }
        guard let token = await operatorToken?() else { return try byNetwork.get() }
        return try await verifyPhoneNumber(number, operatorToken: token, at: mobileOperator)
    }

    /// Asks the operator whether this device has a phone number, as the SIM shows it. If it has, the number is the
    /// user's, verified.
    /// - Parameters:
    ///   - number: With `+` and country code; nil for the number of the profile.
    ///   - operatorToken: A TS.43 operator token, which works once.
    public func verifyPhoneNumber(
        _ number: String? = nil, operatorToken: String, at mobileOperator: MobileOperator = MobileOperator()
    ) async throws(LatchkeyError) -> PhoneVerification {
        try await verification(
            "POST", Self.verificationsPath, fields(number, mobileOperator, "operator_token", operatorToken))
    }

    /// Begins a verification in a browser that uses the cellular network.
    ///
    /// ``verifyPhoneNumber(_:to:at:over:operatorToken:)`` needs no browser.
    /// - Parameters:
    ///   - number: With `+` and country code; nil for the number of the profile.
    ///   - redirectURI: One of the provider's redirect URIs, such as `com.example.app:/signed-in`. No other app may be
    ///     able to receive it: what arrives there confirms the verification.
    public func startVerification(
        of number: String? = nil, to redirectURI: String, at mobileOperator: MobileOperator = MobileOperator()
    ) async throws(LatchkeyError) -> RedirectVerification {
        struct Started: Decodable {
            let verificationId: String
            let authorizationUrl: String
        }
        let fields = fields(number, mobileOperator, "redirect_uri", redirectURI)
        let started = try await asUser(request("POST", Self.verificationsPath, fields)).checked(now: pace.now())
            .decoded(Started.self)
        guard let url = URL(string: started.authorizationUrl) else { throw .malformed }
        return RedirectVerification(id: started.verificationId, url: url, redirectURI: redirectURI)
    }

    /// Ends a verification with its callback URL, which takes effect by this call: at most two minutes after the
    /// browser came back, with the session that began.
    ///
    /// The request is not repeated after a lost response: ``phoneVerification(_:)`` has the outcome.
    /// - Throws: ``LatchkeyError/Code/foreignCallback`` for the URL of another verification;
    ///   ``LatchkeyError/Code/invalidGrant`` for one that was ended before; the error of the verification.
    public func finish(
        _ verification: RedirectVerification, callback: URL
    ) async throws(LatchkeyError) -> PhoneVerification {
        let items = try QueryText.items(of: callback, to: verification.redirectURI)
        guard items["action"] == "verify_phone", items["verification_id"] == verification.id else {
            throw .foreignCallback
        }
        if items["status"] == "failure" { throw .ofCallback(items) }
        guard items["status"] == "pending", let confirmation = items["confirmation"] else { throw .foreignCallback }
        return try await self.verification(
            "POST", Self.path(of: verification.id) + "/confirmation", ["confirmation": confirmation])
    }

    /// Returns the outcome of a verification of this session again, for a day.
    public func phoneVerification(_ id: String) async throws(LatchkeyError) -> PhoneVerification {
        try await verification("GET", Self.path(of: id))
    }

    private static let verificationsPath = "/users/me/phone/verifications"

    private static func path(of id: String) -> String { verificationsPath + "/" + QueryText.encoded(id) }

    /// The request's fields; the last one says how the operator recognises the device.
    private func fields(
        _ number: String?, _ mobileOperator: MobileOperator, _ means: String, _ value: String
    ) -> [String: String?] {
        var fields: [String: String?] = ["provider": configuration.numberProvider, means: value]
        if let number { fields["phone_number"] = number }
        for (name, value) in mobileOperator.fields { fields[name] = value }
        return fields
    }

    private func verification(
        _ method: String, _ path: String, _ fields: [String: String?]? = nil
    ) async throws(LatchkeyError) -> PhoneVerification {
        try await asUser(request(method, path, fields)).checked(now: pace.now())
            .decoded(PhoneVerification.self, .useDefaultKeys)
    }
}
