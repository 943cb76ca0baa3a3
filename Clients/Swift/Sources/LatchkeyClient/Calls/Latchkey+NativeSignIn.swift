import Foundation

/// Sign-in with an ID token that the device or a provider's SDK gives, without a browser.
extension Latchkey {
    /// Gets a nonce for ``signIn(with:at:clientID:)``. It works once, and for a few minutes.
    /// - Parameter provider: The name of the provider in the server's configuration, such as `google` or `apple`.
    public func nonce(at provider: String) async throws(LatchkeyError) -> NativeNonce {
        struct Attempt: Decodable {
            let nonce: String
        }
        let path = "/auth/\(QueryText.encoded(provider))/attempts"
        let attempt = try await sendAgainIfLost(request("POST", path), within: Self.retryWindow)
            .checked(now: pace.now()).decoded(Attempt.self)
        return NativeNonce(hidden: Hidden(attempt.nonce))
    }

    /// Signs the user in. They are the same user as in a browser.
    ///
    /// A token works once, so the request is not repeated after a lost response: get another nonce and another token.
    /// - Parameters:
    ///   - provider: The name of the provider in the server's configuration.
    ///   - clientID: The client there, if several have native sign-ins.
    /// - Throws: ``LatchkeyError/Code/userNotRegistered`` with a ``LatchkeyError/registration``;
    ///   `invalid_id_token`, which names the check that failed.
    public func signIn(
        with token: NativeToken, at provider: String, clientID: String? = nil
    ) async throws(LatchkeyError) -> Session {
        let path = "/auth/\(QueryText.encoded(provider))/native"
        return try await session(try await send(request("POST", path, token.fields(clientID: clientID))))
    }
}
