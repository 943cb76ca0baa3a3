import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel

/// Logout together with the provider (docs/accounts.md).
extension LatchkeyAPI {
    /// A provider has no API key: its token authenticates it. Only a form (Back-Channel Logout section 2.5).
    func receiveLogout(_ request: Request) async throws -> Response {
        guard case .form(let form) = try BodyFields(request) else { throw APIError.notAForm }
        var reader = FieldReader(.form(form))
        guard let token = reader.visibleText("logout_token", limit: 16_384, required: true) else {
            throw reader.refusal()
        }
        try await useCases.backchannelLogout(
            provider: request.provider, logoutToken: Secret(token), requestID: request.id)
        return .emptyObject
    }

    func signOutAtProvider(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let session = PresentedSession(caller.holder.session, by: caller.token)
        let exit = try await exit(of: request, caller.admission, from: session)
        try await useCases.sessions.signOut(caller.holder)
        return try await leave(by: exit, request)
    }

    /// Only by `POST` from this server's own pages, so that no link elsewhere signs a user out. The session token may
    /// have expired before.
    func signOutPageAtProvider(_ request: Request) async throws -> Response {
        try checkSameOrigin(request)
        let session = try await useCases.sessions.presented(
            token: cookies.session(of: request), refreshToken: cookies.refresh(of: request))
        let exit = try await exit(of: request, nil, from: session)
        _ = try await signOutPage(request)
        return try await leave(by: exit, request)
    }

    private func exit(
        of request: Request, _ admission: Admission?, from session: PresentedSession?
    ) async throws -> ProviderSignOut.Exit {
        let base = try publicURL()
        var reader = FieldReader(try BodyFields(request, from: admission))
        guard
            let redirectURI = reader.visibleText(
                "post_logout_redirect_uri", ["redirect_uri"], limit: 2048, required: true)
        else { throw reader.refusal() }
        return try await useCases.providerSignOut.exit(
            by: request.provider, from: session, to: redirectURI.hasPrefix("/") ? base + redirectURI : redirectURI,
            requestID: request.id)
    }

    private func leave(by exit: ProviderSignOut.Exit, _ request: Request) async throws -> Response {
        let location = await useCases.providerSignOut.location(
            of: exit, returnURL: "\(try publicURL())/auth/\(request.provider)/logged-out")
        guard request.prefersJSON else { return withoutSession(.redirect(to: location), request) }
        return withoutSession(.json(.ok, capacity: 512) { $0.add("location", location) }, request)
    }

    func returnFromLogout(_ request: Request) async throws -> Response {
        // HEAD, as link checkers send it, must not spend the state.
        guard request.method == .get else { return Response(status: .ok, headers: [.cacheControl: "no-store"]) }
        let state = try request.query["state"].flatMap { $0.utf8.count <= 256 ? Secret($0) : nil }
        guard let location = try await useCases.providerSignOut.finish(at: request.provider, state: state) else {
            return BrowserPages.signedOut(below: baseURL.path)
        }
        return .redirect(to: location)
    }
}
