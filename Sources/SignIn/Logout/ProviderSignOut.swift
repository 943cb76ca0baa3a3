import Crypto
import Logging
import OpenIDConnect
package import Primitives
package import StorageModel

/// Signs a user out here and then at the provider, if the provider offers that (OpenID Connect RP-Initiated Logout
/// 1.0).
///
/// The request has the ID token of the sign-in as `id_token_hint`, where one was kept: without it, many providers ask
/// the user before they end their session, or do not send the browser back.
package struct ProviderSignOut: UseCase {
    /// How long a browser may be at the provider, in seconds.
    package static let lifetime: Int64 = 600

    let environment: Environment
    let store: any SessionStore
    let oneTimeStore: EncryptedOneTimeStore

    /// The sign-out at a provider, prepared before any session has ended.
    package struct Exit: Sendable {
        let provider: String
        let clientID: ClientID
        let redirectURI: String
        let relyingParty: RelyingParty
        let hint: IDTokenHint?
    }

    /// Checks a request to sign out at a provider. Nothing ends by it.
    /// - Parameters:
    ///   - session: The session that ends; nil if the page's session is unknown.
    ///   - redirectURI: Where the browser goes afterwards: a registered redirect URI of the client, or of any of the
    ///     provider's clients if the client is unknown.
    /// - Throws: `not_found` for an unknown provider; `invalid_request` for one with mobile operators, for a session of
    ///   another provider's client, and for a redirect URI that is not registered; `temporarily_unavailable`.
    package func exit(
        by name: String, from session: PresentedSession?, to redirectURI: String, requestID: String
    ) async throws(SignInError) -> Exit {
        let target = try providers.find(withoutOperators: name, instead: "Sign out with DELETE /auth/token.")
        let clients = target.server.clients.filter { session == nil || $0.key.text == session?.session.clientID }
        guard !clients.isEmpty else { throw .notOfThisProvider }
        let found = clients.filter { $0.value.mayReceiveBrowsers(at: redirectURI) }
        guard let id = found.keys.min(by: { $0.text < $1.text }) else {
            let error = SignInError.redirectURINotRegistered(
                redirectURI, among: clients.values.flatMap(\.redirectURIs))
            refusals.log(
                error, "sign-out refused", at: name, ["request_id": "\(requestID)", "cause": "\(error.cause ?? "")"],
                to: logger)
            throw error
        }
        return Exit(
            provider: name, clientID: id, redirectURI: redirectURI, relyingParty: target.relyingParty,
            hint: target.provider.openID?.keepsIDTokens ?? false ? try await hint(of: session) : nil)
    }

    /// The ID token of a session. It is read before the session ends, and is deleted with it.
    private func hint(of presented: PresentedSession?) async throws(SignInError) -> IDTokenHint? {
        guard let presented else { return nil }
        let idToken = try await mappingStoreErrors(
            await store.idToken(ofSession: presented.session.id, of: presented.session.userID))
        return idToken.flatMap(presented.open)
    }

    /// Where the browser goes once the user is signed out here: to the provider, or straight to the redirect URI if the
    /// provider has no end-session endpoint or is unavailable.
    /// - Parameter returnURL: This server's URL for the provider to send the browser back to.
    package func location(of exit: Exit, returnURL: String) async -> String {
        let state = Secret(random.token())
        let correlationID = CorrelationID.random(from: random)
        do throws(OIDCError) {
            let url = try await exit.relyingParty.endSessionURL(
                clientID: exit.clientID, hint: exit.hint, returnURL: returnURL, state: state,
                correlationID: correlationID)
            let note = Array((exit.provider + "\n" + exit.redirectURI).utf8)
            if let url,
                (try? await oneTimeStore.keep(note, for: .signOut, under: state, seconds: Self.lifetime)) != nil
            {
                return url.text
            }
        } catch {
            logger.warning(
                "a provider could not be asked to end its session",
                metadata: [
                    "provider": "\(exit.provider)", "correlation_id": "\(correlationID)", "reason": "\(error.code)",
                ])
        }
        return Self.end(at: exit.redirectURI)
    }

    /// Where the browser goes that comes back from the provider; nil if its `state` is unknown, and then a page tells
    /// the user that they are signed out.
    /// - Throws: `temporarily_unavailable`.
    package func finish(at name: String, state: Secret?) async throws(SignInError) -> String? {
        guard let state, let bytes = try await oneTimeStore.take(.signOut, under: state) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(ascii: "\n", maxSplits: 1)
        guard lines.count == 2, String(lines[0]).hasSameBytes(as: name) else { return nil }
        return Self.end(at: String(lines[1]))
    }

    private static func end(at redirectURI: String) -> String {
        AppRedirectURI.appending([("action", "logout"), ("status", "success")], to: redirectURI)
    }
}

extension SignInError {
    static let notOfThisProvider = invalidRequest(
        "The session is not of a client of this provider. Name the provider that the user signed in with.")
}

/// A session whose user signs out, and the token by which its ID token can be opened.
package struct PresentedSession: Sendable {
    private enum Opener {
        case sessionToken(Secret)
        case refreshToken(PresentedRefreshToken)
        /// A used refresh token ends the session, and does not reveal what was kept for its owner.
        case nothing
    }

    let session: Session
    private let opener: Opener

    /// A session that was found by its session token.
    package init(_ session: Session, by token: Secret) {
        self.session = session
        opener = .sessionToken(token)
    }

    /// A session that was found by a refresh token.
    init(_ session: Session, by refreshToken: PresentedRefreshToken, isLive: Bool) {
        self.session = session
        opener = isLive ? .refreshToken(refreshToken) : .nothing
    }

    /// The session's ID token; nil if the presented token does not open it.
    func open(_ idToken: SealedIDToken) -> IDTokenHint? {
        switch opener {
        case .sessionToken(let token): idToken.hint(forSessionToken: token)
        case .refreshToken(let token): idToken.hint(for: token)
        case .nothing: nil
        }
    }
}

extension Sessions {
    /// The session of a page, by its session token or, if that has expired, by its refresh token.
    /// - Throws: `temporarily_unavailable`.
    package func presented(token: Secret?, refreshToken: Secret?) async throws(SignInError) -> PresentedSession? {
        if let token, let found = try await authenticate(token) { return PresentedSession(found.session, by: token) }
        guard let refreshToken = refreshToken.flatMap({ PresentedRefreshToken($0) }) else { return nil }
        switch try await state(of: refreshToken) {
        case .live(let found): return PresentedSession(found.session, by: refreshToken, isLive: true)
        case .justSpent(let found, _), .spent(let found):
            return PresentedSession(found.session, by: refreshToken, isLive: false)
        case .unknown: return nil
        }
    }
}

/// The encryption of the ID tokens that are kept for logout: AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869)
/// derives from the family of the session's refresh tokens, so that the next refresh tokens open it as well.
///
/// A session token reveals no family. So this key is also stored, encrypted under one that the session token derives,
/// and encrypted again for the new session token at each refresh. The store has only hashes of all these tokens.
extension SealedIDToken {
    /// Nil if the tokens are not those of a session.
    init?(_ hint: IDTokenHint, openedBy tokens: SessionTokens) {
        guard let refreshToken = PresentedRefreshToken(tokens.refreshToken),
            let content = try? Self.key(of: refreshToken).seal(
                Array((hint.issuer + "\n" + hint.token.exposed).utf8)),
            let sessionKey = Self.sessionKey(for: tokens.token.exposed, of: refreshToken)
        else { return nil }
        self.init(content: content, sessionKey: sessionKey)
    }

    /// The key of a session's ID token, encrypted for a new session token.
    static func sessionKey(for token: String, of refreshToken: PresentedRefreshToken) -> [UInt8]? {
        let key = key(of: refreshToken).withUnsafeBytes { Array($0) }
        return try? Self.key(ofSessionToken: token).seal(key)
    }

    /// The ID token; nil for the token of another session, and for one that a refresh has replaced.
    func hint(forSessionToken token: Secret) -> IDTokenHint? {
        guard let key = Self.key(ofSessionToken: token.exposed).open(sessionKey), key.count == 32 else { return nil }
        return hint(under: SymmetricKey(data: key))
    }

    /// The ID token; nil for a refresh token of another session.
    func hint(for refreshToken: PresentedRefreshToken) -> IDTokenHint? { hint(under: Self.key(of: refreshToken)) }

    private func hint(under key: SymmetricKey) -> IDTokenHint? {
        guard let bytes = key.open(content), let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return IDTokenHint(
            issuer: String(decoding: bytes[..<end], as: UTF8.self),
            token: Secret(String(decoding: bytes[(end + 1)...], as: UTF8.self)))
    }

    private static func key(of refreshToken: PresentedRefreshToken) -> SymmetricKey {
        SymmetricKey(derivedFrom: refreshToken.family, for: "latchkey ID token of a session")
    }

    private static func key(ofSessionToken token: String) -> SymmetricKey {
        SymmetricKey(derivedFrom: token, for: "latchkey key of a session's ID token")
    }
}
