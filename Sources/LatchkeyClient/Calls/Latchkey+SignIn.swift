import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Signing in with what a carrier's SDK has handed the app.
extension Latchkey {
    /// Signs the user in whom the carrier has approved.
    ///
    /// If the answer is lost, the same request is sent again within a minute: the server takes the two for one.
    /// - Throws: ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration`` where the server wants
    ///   users to register; the carrier's or the server's refusal.
    public func signIn(with response: AuthorizedResponse) async throws(LatchkeyError) -> Session {
        let fields = response.fields(clientID: configuration.clientID)
        let path = "/auth/\(QueryText.encoded(configuration.provider))/sign-in"
        return try await session(
            try await sendAgainIfLost(request("POST", path, fields), within: Self.retryWindow))
    }

    /// Makes a user of somebody who is not registered yet, and signs them in.
    /// - Throws: ``LatchkeyError`` with `invalid_request` that names what is missing or malformed (the registration is
    ///   then good for another try), `email_domain_blocked`, `user_already_exists`, or `invalid_token` for a
    ///   registration that has expired.
    public func register(_ registration: Registration) async throws(LatchkeyError) -> Session {
        try await session(try await send(request("POST", "/users", registration.fields)))
    }

    func session(_ answer: Answer, or others: Set<Int> = []) async throws(LatchkeyError) -> Session {
        let now = pace.now()
        return try await keep(try answer.checked(or: others, now: now).decoded(TokenResponse.self).session(now: now))
    }
}
