import Foundation

/// Sign-in with the response of a carrier's SDK.
extension Latchkey {
    /// Signs the user in.
    ///
    /// If the response is lost, the client repeats the request for a minute, and the server treats it as the same one.
    /// - Throws: ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration`` if the server requires
    ///   registration; the carrier's or the server's error.
    public func signIn(with response: AuthorizedResponse) async throws(LatchkeyError) -> Session {
        let fields = response.fields(clientID: configuration.clientID)
        let path = "/auth/\(QueryText.encoded(configuration.provider))/sign-in"
        return try await session(try await sendAgainIfLost(request("POST", path, fields), within: Self.retryWindow))
    }

    /// Registers a new user and signs them in.
    /// - Throws: ``LatchkeyError`` with `invalid_request` that names the missing or malformed fields (the registration
    ///   can then be repeated), `email_domain_blocked`, `user_already_exists`, or `invalid_token` for an expired
    ///   registration.
    public func register(_ registration: Registration) async throws(LatchkeyError) -> Session {
        try await session(try await send(request("POST", "/users", registration.fields)))
    }

    func session(_ response: ServerResponse, or others: Set<Int> = []) async throws(LatchkeyError) -> Session {
        let now = pace.now()
        return try await keep(try response.checked(or: others, now: now).decoded(TokenResponse.self).session(now: now))
    }
}
