import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Browsers that come back from a provider: with a response, with the same one again, or too late.
extension RedirectSignIn {
    func addCallback(_ path: String, to router: inout Router) {
        router.get(path, api.paged { try await finishRedirect($1) })
        router.post(path, api.paged { try await finishRedirectByForm($1) })
    }

    /// HEAD, as link checkers send it, must not spend the `state`.
    private func finishRedirect(_ request: Request) async throws -> Response {
        guard request.method == .get else { return Response(status: .ok, headers: [.cacheControl: "no-store"]) }
        _ = try api.useCases.providers.find(request.provider)
        return try await readResponse(try request.repairedQuery.only(AuthorizationResponse.names), request)
    }

    /// `response_mode=form_post`: a browser sends no `SameSite=Lax` cookie with another site's form. Then a page of
    /// this server sends the form again, with the cookie. A redirect would put the code into an address.
    private func finishRedirectByForm(_ request: Request) async throws -> Response {
        let form = try BodyFields.repairedForm(request)
        _ = try api.useCases.providers.find(request.provider)
        if let type = request.parameters["client_type"], ClientType(rawValue: type) == nil {
            throw APIError.unknownClientType
        }
        let known = form.only(AuthorizationResponse.names)
        if api.cookies.browser(of: request) == nil, form[AuthorizationResponse.sentAgain] == nil {
            let items = known.items.map { (name: $0.name, value: $0.value) }
            return BrowserPages.formToSendAgain(items, to: api.baseURL.path + request.path, below: api.baseURL.path)
        }
        return try await readResponse(known, request, user: known["user"].flatMap { UserInfo(beside: .string($0)) })
    }

    /// - Parameters:
    ///   - parameters: Those of ``AuthorizationResponse/names``.
    ///   - user: The name beside the code.
    private func readResponse(_ parameters: Query, _ request: Request, user: UserInfo? = nil) async throws -> Response {
        var received: AuthorizationResponse
        do throws(APIError) {
            received = try AuthorizationResponse(parameters, provider: request.provider)
        } catch {
            // The error may name a parameter that is personal.
            await noteUnreadableResponse(
                at: request.provider, browser: api.cookies.browser(of: request),
                problem: parameters.repeatedName.map { "The authorization response has \($0) more than once." }
                    ?? "A parameter of the authorization response is malformed.", requestID: request.id)
            throw error.telling(.unconfirmed)
        }
        received.user = user
        guard let browser = api.cookies.browser(of: request) else {
            return try await finishOnce(received, request).response
        }
        let brought = PercentEncoding.form(parameters.items.map { ($0.name, $0.value) })
        let key = TokenHash(
            sha256Of: "\(browser.exposed)\n\(received.provider)\n\(String(decoding: brought, as: UTF8.self))")
        let now = environment.clock.now()
        if let end = feature.ends.kept(key, at: now) { return try await again(end, request) }
        return try await feature.ends.end(for: key, at: now) { try await finishOnce(received, request) }.response
    }

    /// The response for a browser that may not have got it, and then needs its cookies. Newer ones stay.
    private func again(_ end: RedirectEnds.End, _ request: Request) async throws -> Response {
        var response = end.response
        guard let token = end.token else { return response }
        let sessions = api.useCases.sessions
        if let held = api.cookies.session(of: request), try await sessions.authenticate(held) != nil {
            response.headers[values: .setCookie] = []
        } else if try await sessions.authenticate(token) == nil {
            throw SignInError.redirectUnknown
        }
        return response
    }

    private func finishOnce(_ received: AuthorizationResponse, _ request: Request) async throws -> RedirectEnds.End {
        let step = try await finish(
            received, browser: api.cookies.browser(of: request), session: api.cookies.session(of: request),
            device: DeviceName.of(request), subnet: api.terms(of: request, nil).subnet, requestID: request.id)
        var response = respond(step)
        guard case .finished(let end) = step else { return .init(response: response) }
        var token: Secret?
        var seconds: Int64?
        switch end.result {
        case .signedIn(let signedIn):
            token = signedIn.tokens.token
            // One that is brought again may bring the session that it gave before.
            if !signedIn.isRepeated { await api.endFormerSession(of: request, besides: signedIn.tokens) }
            api.forgetRegistration(of: request, in: &response)
        case .mustRegister(let offer):
            seconds = offer.expiresIn
            if let registration = api.registration,
                let location = end.locationAfterRegistration(at: api.baseURL.origin)
            {
                response.headers.append(try await registration.cookie(for: offer, endingAt: location, api))
            }
        case .handedOver: seconds = Self.sessionCodeLifetime
        // The session may have been stored.
        case .failed(let error) where error.code == .temporarilyUnavailable: seconds = 0
        case .errandDone, .taskEnded, .failed: break
        }
        return .init(
            response: response, token: token, expiresAt: seconds.map { environment.clock.now().advanced(bySeconds: $0) }
        )
    }

    // MARK: Browsers that come too late

    func wayBack(from request: Request) -> (path: String, words: String) {
        let start =
            request.path.hasSuffix("/callback") ? api.cookies.start(of: request) ?? usualStart(of: request) : nil
        return start.map { ($0, "Start again") } ?? (SignInPage.path, "Back to the sign-in page")
    }

    /// A start at the provider of a request, if it has one client, which has a redirect URI for pages.
    private func usualStart(of request: Request) -> String? {
        let clients = api.useCases.providers[request.provider]?.server?.clients ?? [:]
        guard clients.count == 1, let client = clients.values.first,
            let redirectURI = client.rules.redirectURIs.first(where: { client.allows(.web, at: $0) })
        else { return nil }
        return Self.start(at: request.provider, for: client, to: redirectURI)
    }
}

extension BrowserCookies {
    private var startName: String { prefix + "latchkey_start" }

    /// Has a browser keep the address of a start for a day, so that it can start again if it comes back too late. Nil
    /// for an address that is too long.
    func setStart(of request: Request) -> HTTPField? {
        let address = request.path + (request.head.rawQuery.map { "?" + $0 } ?? "")
        guard address.utf8.count <= 1024 else { return nil }
        return field(startName, Base64URL.encode(Array(address.utf8)), maximumAge: 86_400)
    }

    /// The path and query of the browser's last start, if it was at the provider of the request.
    fileprivate func start(of request: Request) -> String? {
        let address = text(startName, of: request).flatMap { Base64URL.decode($0.utf8) }
            .map { String(decoding: $0, as: UTF8.self) }
        guard let address, address.isVisibleASCII(), address.hasPrefix("/"),
            !["//", "/\\"].contains(address.prefix(2)),
            address.prefix(while: { $0 != "?" }).split(separator: "/").contains(Substring(request.provider))
        else { return nil }
        return address
    }
}

extension APIError {
    fileprivate static let unknownClientType = APIError(
        .notFound, "not_found", .invalidRequest,
        "There is no such client_type. Use one of: "
            + ClientType.allCases.map(\.rawValue).joined(separator: ", ") + ".")
}
