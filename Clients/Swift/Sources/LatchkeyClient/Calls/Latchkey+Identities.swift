import Foundation

/// The user's identities at providers. Each of them signs in the same user.
extension Latchkey {
    /// The user's identities.
    public func identities() async throws(LatchkeyError) -> [UserIdentity] {
        try await asUser(request("GET", "/users/me/identities")).checked(now: pace.now())
            .decoded([String: [UserIdentity]].self, .useDefaultKeys)["identities"] ?? []
    }

    /// Adds an identity: from then on it signs in the same user.
    ///
    /// The user must have signed in a short time ago. The request is not repeated after a lost response:
    /// ``identities()`` shows whether it took effect.
    /// - Parameters:
    ///   - response: The response of the provider's authorization request, as for a sign-in.
    ///   - provider: The name of the provider in the server's configuration.
    ///   - clientID: The app's `client_id` there; nil for that of ``Configuration``.
    /// - Returns: The identity, also if the user already had it.
    /// - Throws: ``LatchkeyError/Code/userAlreadyExists`` for the identity of another user;
    ///   ``LatchkeyError/Code/insufficientUserAuthentication`` if the user must sign in again first; the provider's or
    ///   the server's error.
    public func linkIdentity(
        with response: AuthorizedResponse, at provider: String, clientID: String? = nil
    ) async throws(LatchkeyError) -> UserIdentity {
        var fields = response.fields(clientID: clientID ?? configuration.clientID)
        fields["provider"] = provider
        return try await asUser(request("POST", "/users/me/identities", fields)).checked(now: pace.now())
            .decoded(UserIdentity.self, .useDefaultKeys)
    }

    /// Adds the phone number of this device, which the operator knows by the SIM: from then on it signs in the same
    /// user.
    ///
    /// The user must have signed in a short time ago. A token works once, so the request is not repeated after a lost
    /// response: ``identities()`` shows whether it took effect.
    /// - Parameter operatorToken: A TS.43 operator token.
    /// - Returns: The identity, also if the user already had it.
    /// - Throws: As ``linkIdentity(with:at:clientID:)``, and as ``signIn(withOperatorToken:at:of:)``.
    public func linkNumber(
        operatorToken: String, at mobileOperator: MobileOperator = MobileOperator()
    ) async throws(LatchkeyError) -> UserIdentity {
        let fields = mobileOperator.fields.merging(
            ["provider": configuration.numberProvider, "operator_token": operatorToken]) { $1 }
        return try await asUser(request("POST", "/users/me/identities", fields)).checked(now: pace.now())
            .decoded(UserIdentity.self, .useDefaultKeys)
    }

    /// Removes an identity, and ends the sessions that it signed in, except this one.
    /// - Throws: ``LatchkeyError/Code/lastIdentity`` for the user's only identity.
    public func unlinkIdentity(_ id: String) async throws(LatchkeyError) {
        _ = try await asUser(request("DELETE", "/users/me/identities/" + QueryText.encoded(id))).checked(
            now: pace.now())
    }
}
