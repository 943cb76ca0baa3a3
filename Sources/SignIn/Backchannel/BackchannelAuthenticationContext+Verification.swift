import OpenIDConnect
import Primitives
import StorageModel

extension BackchannelAuthenticationContext {
    /// Validates the ID token of a notification or a poll, and fetches the attributes if they are asked for.
    ///
    /// - Parameters:
    ///   - key: The key that the access token is bound to; nil for a Bearer token.
    ///   - requestID: The provider's id of the request, which the ID token may repeat (CIBA Core section 10.3.1).
    ///   - nonce: The nonce of the request, which the ID token may leave out; nil if it had none.
    ///   - tokens: The provider's tokens, if they are kept.
    func verify(
        _ idToken: Secret, _ accessToken: Secret?, boundTo key: DPoPKey? = nil, of requestID: Secret, nonce: Secret?,
        keeping tokens: TokenResponse? = nil, at now: Timestamp? = nil, _ log: inout BackchannelAuthenticationLog
    ) async throws(OIDCError) -> VerifiedSignIn {
        var expectation = IDTokenExpectation(
            clientID: client.id, nonce: nonce?.exposed, acrValues: acrValues, context: terms.context,
            accessToken: accessToken)
        expectation.signingAlgorithms = client.signingAlgorithms
        expectation.nonceMayBeMissing = true
        expectation.requestID = requestID
        log.begin(.validate)
        let verified = try await relyingParty.validate(
            idToken: idToken, expecting: expectation, provider: carrier, correlationID: correlationID
        ) { log.note($0) }
        let kept = tokens.flatMap { tokens in now.map { ProviderTokens(tokens, verified, at: $0) } }
        guard wantsAttributes, let accessToken else { return VerifiedSignIn(verified, nil, kept) }
        log.begin(.userinfo)
        var userInfo = try await relyingParty.userInfo(
            accessToken: accessToken, boundTo: key, about: verified, signedWith: client.userInfoSigningAlgorithm,
            orAnyOf: client.usualSigningAlgorithms, client: client.credentials, provider: carrier,
            correlationID: correlationID)
        userInfo.claims = userInfo.claims.requested(by: scopes + client.scopes)
        return VerifiedSignIn(verified, userInfo, kept)
    }
}
