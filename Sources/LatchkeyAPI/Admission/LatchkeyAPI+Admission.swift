import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The access rules of routes: wrappers around the handlers of ``makeRouter()``.
extension LatchkeyAPI {
    typealias PagedRoute = @Sendable (LatchkeyAPI, Request) async throws -> Response
    typealias KeyedRoute = @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    typealias SignedInRoute = @Sendable (LatchkeyAPI, Request, SignedInCaller) async throws -> Response

    /// A route that requires an API key or an allowed origin, checked before anything else.
    func keyed(_ route: @escaping KeyedRoute) -> Handler {
        { request in try await route(self, request, try await self.admit(request)) }
    }

    /// As ``keyed(_:)``, for routes that begin or renew a session.
    func entering(_ route: @escaping KeyedRoute) -> Handler {
        let keyed = keyed(route)
        return { request in
            try self.rates.countSignIn(of: request)
            return try await keyed(request)
        }
    }

    /// As ``paged(_:)``, for routes that start a stored sign-in.
    func starting(_ route: @escaping PagedRoute) -> Handler {
        paged { api, request in
            try api.rates.countStart(of: request)
            return try await route(api, request)
        }
    }

    /// As ``entering(_:)``, also without an API key, for a route whose body has a credential of its own: a handle that
    /// works once. A key that is sent counts.
    func enteringWithHandle(
        _ route: @escaping @Sendable (LatchkeyAPI, Request, Admission?) async throws -> Response
    ) -> Handler {
        { request in
            try self.rates.countSignIn(of: request)
            let isKnown = request.headers.count(of: .apiKey) > 0 || self.crossOrigin.grant(of: request) != nil
            return try await route(self, request, isKnown ? try await self.admit(request) : nil)
        }
    }

    /// As ``entering(_:)``, also for pages of this server's own origin, whose session is in cookies, without an API
    /// key.
    func enteringOrPage(_ route: @escaping KeyedRoute) -> Handler {
        let keyed = entering(route)
        return { request in
            guard let admission = try self.admitPage(request) else { return try await keyed(request) }
            try self.rates.countSignIn(of: request)
            return try await route(self, request, admission)
        }
    }

    /// As ``signedIn(_:)``, for routes that change an account.
    func changing(_ route: @escaping SignedInRoute) -> Handler {
        signedIn { api, request, caller in
            try await api.rates.countChange(of: caller.holder.user.id, with: api.useCases.sessions)
            return try await route(api, request, caller)
        }
    }

    /// A route for signed-in callers. A browser sends its session cookie alone and needs no API key.
    ///
    /// The session is looked up here, once per request: the route gets it as a value.
    func signedIn(_ route: @escaping SignedInRoute) -> Handler {
        { request in
            let admission =
                self.isPage(request) ? Admission(ground: .cookie, clients: nil) : try await self.admit(request)
            let token = try self.sessionToken(of: request)
            guard let holder = try await self.useCases.sessions.authenticate(token) else {
                throw APIError.sessionInvalid
            }
            // Otherwise a key that is for one client could be used on the sessions of all.
            try admission.check(holder.session.clientID)
            return try await route(self, request, SignedInCaller(admission: admission, token: token, holder: holder))
        }
    }

    /// As ``signedIn(_:)``, for routes that end a session. A browser's cookies go to `page` unchecked, because the
    /// session token in them may have expired before.
    func signedIn(orPage page: @escaping PagedRoute, _ route: @escaping SignedInRoute) -> Handler {
        let signedIn = signedIn(route)
        return { request in
            self.isPage(request) ? try await page(self, request) : try await signedIn(request)
        }
    }

    /// A route for the operator's other services: an allowed origin does not replace the key.
    func forServices(_ route: @escaping KeyedRoute) -> Handler {
        { request in
            guard request.headers[.apiKey] != nil else { throw APIError.invalidAPIKey }
            return try await route(self, request, try await self.admit(request))
        }
    }

    /// A route for browser navigation: errors are pages, or JSON if the client accepts that first.
    func paged(_ route: @escaping PagedRoute) -> Handler {
        { request in
            do {
                return try await route(self, request)
            } catch {
                let error = self.render(error, of: request)
                guard !request.prefersJSON else { throw error }
                return BrowserPages.failure(error, below: self.baseURL.path)
            }
        }
    }
}

/// Authentication of requests.
extension LatchkeyAPI {
    /// Admits a request by its API key, or without one by its origin.
    /// - Throws: 401; 503 if the store cannot look the key up.
    func admit(_ request: Request) async throws -> Admission {
        guard let key = request.headers[.apiKey] else {
            guard request.headers.count(of: .apiKey) == 0, let (origin, grant) = crossOrigin.grant(of: request) else {
                throw APIError.invalidAPIKey
            }
            return Admission(ground: .origin(origin), clients: grant.clients)
        }
        let hash = TokenHash(sha256Of: key)
        guard let grant = try await grant(for: hash) else { throw APIError.invalidAPIKey }
        if let origins = grant.origins {
            guard let origin = CrossOrigin.origin(of: request), origins.contains(origin) else {
                throw APIError.keyNotForOrigin
            }
        }
        try rates.countKey(hash.number)
        return Admission(ground: .key(key, hash), clients: grant.clients, isOperator: grant.isOperator)
    }

    private func grant(for hash: TokenHash) async throws(SignInError) -> APIGrant? {
        if let grant = apiKeys.grant(for: hash) { return grant }
        return try await useCases.apiKeys.grant(for: hash)
    }

    /// The session token of a signed-in caller: from `Authorization`, or from the browser's cookie.
    /// - Throws: 401 without one; 403 for a change by cookie that is not from a page of this server.
    func sessionToken(of request: Request) throws(APIError) -> Secret {
        guard request.headers.count(of: .authorization) == 0, let token = cookies.session(of: request) else {
            return try request.bearerToken()
        }
        if request.method != .get, request.method != .head { try checkSameOrigin(request) }
        return token
    }

    var cookies: BrowserCookies { BrowserCookies(isSecure: baseURL.url?.hasPrefix("https://") ?? true) }
}
