import Logging
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Signs a user out here and then at the provider, if the provider offers that (OpenID Connect RP-Initiated Logout
/// 1.0).
///
/// The request has the ID token of the sign-in as `id_token_hint`, where one was kept: without it, many providers ask
/// the user before they end their session, or do not send the browser back.
struct ProviderSignOut: Sendable {
    /// How long a browser may be at the provider, in seconds.
    static let lifetime: Int64 = 600

    let environment: Environment
    let store: SQLStore
    let oneTimeStore: EncryptedOneTimeStore

    /// The sign-out at a provider, prepared before any session has ended.
    struct Exit: Sendable {
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
    func exit(
        by name: String, from session: PresentedSession?, to redirectURI: String, requestID: String
    ) async throws(SignInError) -> Exit {
        let target = try environment.providers.find(
            withoutOperators: name, instead: "Sign out with DELETE /auth/token.")
        let clients = target.server.clients.filter { session == nil || $0.key.text == session?.session.clientID }
        guard !clients.isEmpty else {
            throw .invalidRequest(
                "The session is not of a client of this provider. Name the provider that the user signed in with.")
        }
        let found = clients.filter { $0.value.mayReceiveBrowsers(at: redirectURI) }
        guard let id = found.keys.min(by: { $0.text < $1.text }) else {
            let error = SignInError.redirectURINotRegistered(
                redirectURI, among: clients.values.flatMap(\.redirectURIs))
            environment.refusals.log(
                error, "sign-out refused", at: name, ["request_id": "\(requestID)", "cause": "\(error.cause ?? "")"],
                to: environment.logger)
            throw error
        }
        return Exit(
            provider: name, clientID: id, redirectURI: redirectURI, relyingParty: target.server.relyingParty,
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
    func location(of exit: Exit, returnURL: String) async -> String {
        let state = Secret(environment.random.token())
        let correlationID = CorrelationID.random(from: environment.random)
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
            environment.logger.warning(
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
    func finish(at name: String, state: Secret?) async throws(SignInError) -> String? {
        guard let state, let bytes = try await oneTimeStore.take(.signOut, under: state) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(ascii: "\n", maxSplits: 1)
        guard lines.count == 2, String(lines[0]).hasSameBytes(as: name) else { return nil }
        return Self.end(at: String(lines[1]))
    }

    private static func end(at redirectURI: String) -> String {
        AppRedirectURI.appending([("action", "logout"), ("status", "success")], to: redirectURI)
    }
}

struct PresentedSession: Sendable {
    let session: Session
    /// The session's ID token; nil if the presented token does not open it.
    let open: @Sendable (SealedIDToken) -> IDTokenHint?
}

extension EncryptedOneTimeStore.Purpose {
    /// The destination of a browser that comes back from a provider's logout; the handle is the `state`.
    fileprivate static let signOut = Self("sign-out")
}

extension Sessions {
    /// The session of a page, by its session token or, if that has expired, by its refresh token.
    /// - Throws: `temporarily_unavailable`.
    func presented(token: Secret?, refreshToken: Secret?) async throws(SignInError) -> PresentedSession? {
        if let token, let found = try await authenticate(token) {
            return PresentedSession(session: found.session) { $0.hint(forSessionToken: token) }
        }
        guard let refreshToken else { return nil }
        switch try await refreshTokenState(refreshToken) {
        case .live(let found):
            return PresentedSession(session: found.session) { $0.hint(forRefreshToken: refreshToken) }
        case .justSpent(let found, _), .spent(let found):
            // A used refresh token ends the session, and does not reveal what was kept for its owner.
            return PresentedSession(session: found.session) { _ in nil }
        case .unknown: return nil
        }
    }
}
