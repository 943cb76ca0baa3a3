package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
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
                    try await api.useCases.sessions.signOut(caller.holder)
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
            parameters: [.provider],
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
            parameters: [.provider, .query("state", .visible("Identifies the logout.", upTo: 256))],
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
            parameters: [.provider],
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
        let state = try request.query["state"].flatMap { $0.utf8.count <= 256 ? Secret($0) : nil }
        guard let location = try await finish(at: request.provider, state: state) else {
            return BrowserPages.page(
                .ok, below: path, title: "You are signed out", "<p>You may close this window.</p>")
        }
        return .redirect(to: location)
    }
}
