package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import Logging
import OpenIDConnect
import Primitives
package import SignIn
import Storage
import StorageModel

/// Logout together with providers (docs/accounts.md): a provider ends sessions, or is asked to end its own.
package struct ProviderLogoutFeature: Feature {
    private let store: SQLStore

    package init(_ settings: NoSettings, in context: FeatureContext) { store = context.store }

    package static func clientMetadata(
        of client: Configuration.Client, at provider: Configuration.Provider, path: String
    ) -> ClientMetadataMembers {
        guard provider.kind == .oidc else { return [] }
        let endsSessions = provider.rules.endsSessions
        return [
            ("backchannel_logout_uri", endsSessions ? .string(path + "/backchannel-logout") : nil),
            // A logout token without a sid ends all sessions of its sub.
            ("backchannel_logout_session_required", endsSessions ? false : nil),
            ("post_logout_redirect_uris", .texts([path + "/logged-out"])),
        ]
    }

    package var keepingRules: [WritableKeyPath<ServerRules, Bool>] { [\.keepsIDTokens] }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let environment = api.useCases.environment
        let logout = BackchannelLogout(environment: environment, sessions: api.useCases.sessions, store: store)
        // A provider has no API key: its token authenticates it. Only a form (Back-Channel Logout section 2.5).
        router.post("/auth/{provider}/backchannel-logout") { request in
            guard case .form(let form) = try BodyFields(request) else { throw APIError.notAForm }
            var reader = FieldReader(.form(form))
            guard let token = reader.visibleText("logout_token", limit: 16_384, required: true) else {
                throw reader.refusal()
            }
            try await logout(provider: request.provider, logoutToken: Secret(token), requestID: request.id)
            return .emptyObject
        }
        let signOut = ProviderSignOut(
            environment: environment, store: store, oneTimeStore: api.useCases.oneTimeStore)
        router.post(
            "/auth/{provider}/logout",
            api.signedIn(orPage: { try await signOut.signOutPage($0, $1) }) { api, request, caller in
                let session = PresentedSession(session: caller.holder.session) {
                    $0.hint(forSessionToken: caller.token)
                }
                return try await signOut.signOut(api, request, caller.admission, from: session) {
                    try await api.useCases.sessions.signOut(caller.holder, requestID: request.id)
                }
            })
        router.get("/auth/{provider}/logged-out") { try await signOut.comeBack($0, below: api.baseURL.path) }
    }

    package static let operations: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/logout", "signOutAtProvider", .sessions, .session, "Sign out, at the provider too",
            """
            Ends the session, and sends the browser to the provider, which ends its own session and sends the browser \
            back; or straight to `post_logout_redirect_uri` if the provider has no end-session endpoint.
            """,
            body: APIOperation.Body(
                schema: "SignOut", example: #"{"post_logout_redirect_uri": "https://web.example/signed-out"}"#),
            responses: [
                .redirect(),
                .location(example: #"{"location": "https://login.acme.example/end-session?client_id=…"}"#),
            ],
            refusals: [.providerUnknown]),
        APIOperation(
            .get, "/auth/{provider}/logged-out", "returnFromLogout", .sessions, .open,
            "Return from the provider's logout",
            "Providers send browsers back here. The browser continues at the `post_logout_redirect_uri` of the logout.",
            parameters: [.query("state", .visible("Identifies the logout.", upTo: 256))],
            responses: [
                .redirect(setsCookie: false),
                .text("text/html", "For an unknown `state`: a page that says that the user is signed out."),
            ]),
        APIOperation(
            .post, "/auth/{provider}/backchannel-logout", "receiveLogout", .sessions, .open, "Receive a logout",
            """
            For OpenID providers (Back-Channel Logout 1.0). The token authenticates the sender and names the sessions \
            to end: those of its `sid`, or all of its `sub`. 200 also if there are none.
            """,
            body: APIOperation.Body(
                schema: "BackchannelLogout", example: #"{"logout_token": "\#(APIExample.jwt)"}"#, isFormOnly: true),
            responses: [.done], refusals: [.providerUnknown, .carrierError, .carrierTimeout]),
    ]

    package static let schemas: KeyValuePairs<String, APISchema> = [
        "SignOut": .object(
            "Where the logout ends.",
            [
                "post_logout_redirect_uri": .visible(
                    "One of the client's redirect URIs. Also `redirect_uri`.", upTo: 2048,
                    example: "https://web.example/signed-out")
            ]),
        "BackchannelLogout": .object("A logout.", ["logout_token": .visible("A JWT.", upTo: 16_384)]),
    ]
}

extension ProviderSignOut {
    /// Only by `POST` from this server's own pages, so that no link elsewhere signs a user out. The session token may
    /// have expired before.
    fileprivate func signOutPage(_ api: LatchkeyAPI, _ request: Request) async throws -> Response {
        try api.checkSameOrigin(request)
        let session = try await api.useCases.sessions.presented(
            token: api.cookies.session(of: request), refreshToken: api.cookies.refresh(of: request))
        return try await signOut(api, request, nil, from: session) { _ = try await api.signOutPage(request) }
    }

    /// - Parameter end: Ends the session here.
    fileprivate func signOut(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission?, from session: PresentedSession?,
        end: () async throws -> Void
    ) async throws -> Response {
        let base = try api.publicURL()
        var reader = FieldReader(try BodyFields(request, from: admission))
        guard
            let redirectURI = reader.visibleText(
                "post_logout_redirect_uri", ["redirect_uri"], limit: 2048, required: true)
        else { throw reader.refusal() }
        let exit = try await exit(
            by: request.provider, from: session, to: redirectURI.hasPrefix("/") ? base + redirectURI : redirectURI,
            requestID: request.id)
        try await end()
        let location = await location(of: exit, returnURL: "\(base)/auth/\(request.provider)/logged-out")
        guard request.prefersJSON else { return api.withoutSession(.redirect(to: location), request) }
        return api.withoutSession(.json(.ok, capacity: 512) { $0.add("location", location) }, request)
    }

    /// A browser comes back from the provider.
    fileprivate func comeBack(_ request: Request, below path: String) async throws -> Response {
        // HEAD, as link checkers send it, must not spend the state.
        guard request.method == .get else { return Response(status: .ok, headers: [.cacheControl: "no-store"]) }
        let state = try request.repairedQuery["state"].flatMap { $0.utf8.count <= 256 ? Secret($0) : nil }
        guard let location = try await finish(at: request.provider, state: state) else {
            return BrowserPages.page(
                .ok, below: path, title: "You are signed out", "<p>You may close this window.</p>")
        }
        return .redirect(to: location)
    }
}

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
