import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Hands an app the session of its browser's sign-in, for a `session_id` that works once. If the app sent a code
/// challenge, a `session_id` read from a URL is worth nothing without the verifier.
extension RedirectSignIn {
    /// How long a `session_id` is good, in seconds.
    static let sessionCodeLifetime: Int64 = 120

    /// Stores a session's tokens under a new `session_id`.
    /// - Parameter isSession: Whether the app uses the `session_id` as its session token. It gets the session token
    ///   then, unless it sent a challenge: what is in a URL must be worth nothing without the verifier. The session
    ///   token cannot be exchanged, because others may read it in the URL and would get a refresh token.
    func leaveSession(
        _ signedIn: SignedIn, of clientID: ClientID, codeChallenge: String?, isSession: Bool
    ) async throws(SignInError) -> Secret {
        guard !isSession || codeChallenge != nil else { return signedIn.tokens.token }
        let sessionID = Secret(environment.random.token())
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
        try await oneTimeStore.keep(
            json.finish(), for: .oneTimeSessionCode, under: sessionID, seconds: Self.sessionCodeLifetime)
        return sessionID
    }

    /// Exchanges a `session_id` for the tokens: once, or if it needs the verifier, for the first caller who has it as
    /// long as it is good and its refresh token is not used.
    /// - Parameters:
    ///   - codeVerifier: The verifier of the start's `code_challenge`, if it had one.
    ///   - clients: The clients whose sessions the caller may take; nil for all.
    /// - Throws: `invalid_token` for a `session_id` that is unknown, used or expired; `invalid_grant` for a wrong
    ///   verifier, and then the `session_id` is spent.
    func takeSession(
        _ sessionID: Secret, codeVerifier: CodeVerifier?, caller: Caller, clients: Set<String>? = nil
    ) async throws(SignInError) -> SignedIn {
        guard let bytes = try await oneTimeStore.read(.oneTimeSessionCode, under: sessionID),
            let json = (try? JSONValue(parsing: bytes))?.object, let signedIn = SignedIn(json),
            clients == nil || json["client_id"]?.string.map({ clients?.contains($0) ?? true }) == true
        else { throw .sessionCodeUnknown }
        // A verifier without a challenge is refused, too: its app did not start this sign-in (RFC 9700 section 4.8.2).
        let isOwn = isSame(codeVerifier?.challenge, json["code_challenge"]?.string)
        guard isOwn, codeVerifier != nil else {
            guard try await oneTimeStore.take(.oneTimeSessionCode, under: sessionID) != nil else {
                throw .sessionCodeUnknown
            }
            guard isOwn else { throw .sessionCodeVerifierWrong }
            return signedIn
        }
        let use = Secret("exchange of " + sessionID.exposed)
        let isFirst = try await oneTimeStore.keep(
            caller.hash.bytes, for: .oneTimeSessionCode, under: use, seconds: Self.sessionCodeLifetime)
        if isFirst { return signedIn }
        guard try await oneTimeStore.read(.oneTimeSessionCode, under: use) == caller.hash.bytes,
            try await useCases.sessions.authenticate(refreshToken: signedIn.tokens.refreshToken, orBound: true) != nil
        else { throw .sessionCodeUnknown }
        return signedIn
    }

    private func isSame(_ presented: String?, _ expected: String?) -> Bool {
        guard let presented, let expected else { return presented == nil && expected == nil }
        return presented.hasSameBytes(as: expected)
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
                refreshExpiresIn: refreshExpiresIn), userID: UserID(user), isNew: isNew, correlationID: correlationID)
    }
}

extension EncryptedOneTimeStore.Purpose {
    /// The tokens of an app's new session; the handle is its `session_id`.
    fileprivate static let oneTimeSessionCode = Self("session handover")
}
