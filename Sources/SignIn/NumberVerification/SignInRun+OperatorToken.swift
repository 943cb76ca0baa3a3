import OpenIDConnect
import Primitives

/// Tokens for a TS.43 temporary token, which works over any network.
extension SignInRun {
    /// How long the operator may take to authenticate the device, in seconds: an app waits for it.
    static let patience: Int64 = 20

    /// Exchanges the operator token, in the way that the operator's metadata says. It is spent then.
    /// - Parameter scopes: With exactly one purpose.
    func exchangeOperatorToken(
        for scopes: [String], at provider: ProviderMetadata
    ) async throws(SignInError) -> TokenResponse {
        guard provider.takesOperatorTokensByBackchannel else {
            return try await askedForTokens(
                await relyingParty.exchange(
                    operatorToken: request.code, scopes: scopes, client: client.credentials,
                    provider: provider, correlationID: correlationID))
        }
        let started = try await askedForTokens(
            await relyingParty.authenticate(
                operatorToken: request.code, scopes: scopes, client: client.credentials,
                signedWith: client.signingKey, provider: provider, correlationID: correlationID), codeWasPosted: true)
        return try await poll(started, at: provider)
    }

    /// Asks for the tokens until they are there, never faster than the operator allows (CIBA Core section 7.3). The
    /// first time at once: usually the SIM has said all there is to say.
    private func poll(
        _ started: BackchannelAuthenticationResponse, at provider: ProviderMetadata
    ) async throws(SignInError) -> TokenResponse {
        var interval = started.interval
        let end = clock.now().advanced(bySeconds: min(started.expiresIn, Self.patience))
        while true {
            let response = try await askedForTokens(
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

/// Asks an operator for tokens; its failure becomes the use case's own error.
func askedForTokens<Value>(
    _ call: @autoclosure () async throws(OIDCError) -> Value, codeWasPosted: Bool = false
) async throws(SignInError) -> Value {
    do throws(OIDCError) {
        return try await call()
    } catch {
        throw .refusedTokens(error, codeWasPosted: codeWasPosted)
    }
}
