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
    /// Asks the operator whether this device has a phone number, as the SIM shows it. If it has, the number is the
    /// user's, verified.
    /// - Parameters:
    ///   - number: With `+` and country code; nil for the number of the profile.
    ///   - operatorToken: A TS.43 operator token, which works once.
    ///   - provider: The provider of numbers; nil for that of ``Configuration``.
    public func verifyPhoneNumber(
        _ number: String? = nil, operatorToken: String, at mobileOperator: MobileOperator = MobileOperator(),
        of provider: String? = nil
    ) async throws(LatchkeyError) -> PhoneVerification {
        let fields = verificationFields(number, mobileOperator, provider, ["operator_token": operatorToken])
        return try await verification(request("POST", Self.verificationsPath, fields))
    }

    /// Begins a verification in a browser that uses the cellular network.
    ///
    /// ``verifyPhoneNumber(_:on:to:)`` needs no browser.
    /// - Parameters:
    ///   - number: With `+` and country code; nil for the number of the profile.
    ///   - redirectURI: One of the provider's redirect URIs, such as `com.example.app:/signed-in`. No other app may be
    ///     able to receive it: what arrives there confirms the verification.
    ///   - provider: The provider of numbers; nil for that of ``Configuration``.
    public func startVerification(
        of number: String? = nil, to redirectURI: String, at mobileOperator: MobileOperator = MobileOperator(),
        of provider: String? = nil
    ) async throws(LatchkeyError) -> RedirectVerification {
        struct Started: Decodable {
            let verificationId: String
            let authorizationUrl: String
        }
        let fields = verificationFields(number, mobileOperator, provider, ["redirect_uri": redirectURI])
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
            request("POST", Self.confirmationPath(of: verification.id), ["confirmation": confirmation]))
    }

    /// Returns the outcome of a verification of this session again, for a day.
    public func phoneVerification(_ id: String) async throws(LatchkeyError) -> PhoneVerification {
        try await verification(request("GET", Self.path(of: id)))
    }

    static let verificationsPath = "/users/me/phone/verifications"

    private static func path(of id: String) -> String { verificationsPath + "/" + QueryText.encoded(id) }

    static func confirmationPath(of id: String) -> String { path(of: id) + "/confirmation" }

    /// The request's fields.
    /// - Parameter means: How the phone is recognised.
    func verificationFields(
        _ number: String?, _ mobileOperator: MobileOperator, _ provider: String?, _ means: [String: String?]
    ) -> [String: String?] {
        var fields = mobileOperator.fields.merging(means) { $1 }
        fields["provider"] = provider ?? configuration.numberProvider
        if let number { fields["phone_number"] = number }
        return fields
    }

    func verification(_ request: URLRequest) async throws(LatchkeyError) -> PhoneVerification {
        try await asUser(request).checked(now: pace.now()).decoded(PhoneVerification.self, .useDefaultKeys)
    }
}
