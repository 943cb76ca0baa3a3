public import OpenIDConnect
public import Primitives
import StorageModel

/// Hands an app the session that a browser signed it in to: for a value that works once, and that is worth nothing to
/// whoever reads it from a URL without the app's code verifier.
public struct OneTimeSessionCode: Sendable {
    /// How long the tokens wait, in seconds.
    static let lifetime: Int64 = 120

    let oneTimeStore: EncryptedOneTimeStore
    let random: RandomSource

    /// Leaves a session's tokens under a new `session_id`.
    func leave(
        _ signedIn: SignedIn, of clientID: ClientID, codeChallenge: String?
    ) async throws(SignInError) -> Secret {
        let sessionID = Secret(random.token())
        var json = JSONObjectWriter()
        json.add("token", signedIn.tokens.token.exposed)
        json.add("refresh_token", signedIn.tokens.refreshToken.exposed)
        json.add("expires", signedIn.tokens.expiresIn)
        json.add("refresh_expires", signedIn.tokens.refreshExpiresIn)
        json.add("user_id", signedIn.userID.number)
        json.add("new_user", signedIn.isNew)
        json.add("correlation_id", signedIn.correlationID.text)
        json.add("client_id", clientID.text)
        json.add("code_challenge", ifPresent: codeChallenge)
        try await oneTimeStore.keep(json.finish(), for: .oneTimeSessionCode, under: sessionID, seconds: Self.lifetime)
        return sessionID
    }

    /// Gives the tokens out, once.
    /// - Parameters:
    ///   - codeVerifier: That of the `code_challenge` at the start, if there was one.
    ///   - clients: The clients whose sessions the caller may take; nil for all.
    /// - Throws: `invalid_token` for a value that is unknown, was used or has expired; `invalid_grant` for a verifier
    ///   that does not fit, and then the value is spent.
    public func callAsFunction(
        _ sessionID: Secret, codeVerifier: CodeVerifier?, clients: Set<String>? = nil
    ) async throws(SignInError) -> SignedIn {
        guard let bytes = try await oneTimeStore.take(.oneTimeSessionCode, under: sessionID),
            let json = (try? JSONValue(parsing: bytes))?.object, let signedIn = SignedIn(json),
            clients == nil || json["client_id"]?.string.map({ clients?.contains($0) ?? true }) == true
        else { throw .sessionCodeUnknown }
        // A verifier without a challenge is refused, too: the app that shows it did not start this sign-in (RFC 9700
        // section 4.8.2).
        guard isSame(codeVerifier?.challenge, json["code_challenge"]?.string) else { throw .sessionCodeVerifierWrong }
        return signedIn
    }

    private func isSame(_ shown: String?, _ asked: String?) -> Bool {
        guard let shown, let asked else { return shown == nil && asked == nil }
        return shown.hasSameBytes(as: asked)
    }
}

extension SignedIn {
    fileprivate init?(_ json: JSONObject) {
        guard let token = json["token"]?.string, let refreshToken = json["refresh_token"]?.string,
            let expiresIn = json["expires"]?.integer, let refreshExpiresIn = json["refresh_expires"]?.integer,
            let user = json["user_id"]?.integer,
            let isNew = json["new_user"]?.bool,
            let correlationID = json["correlation_id"]?.string.flatMap(CorrelationID.init)
        else { return nil }
        self.init(
            tokens: SessionTokens(
                token: Secret(token), refreshToken: Secret(refreshToken), expiresIn: expiresIn,
                refreshExpiresIn: refreshExpiresIn),
            userID: UserID(user), isNew: isNew, correlationID: correlationID)
    }
}
