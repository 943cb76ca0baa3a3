import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Synchronization

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
        return try await finish(request.repairedQuery.only(AuthorizationResponse.names), request)
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
        if api.cookies.browser(of: request) == nil, form[AuthorizationResponse.sentAgain] == nil,
            known.only(AuthorizationResponse.namesOnce).repeatedName == nil
        {
            let items = known.items.map { (name: $0.name, value: $0.value) }
            return BrowserPages.formToSendAgain(items, to: api.baseURL.path + request.path, below: api.baseURL.path)
        }
        return try await finish(known, request, user: known["user"].flatMap { UserInfo(beside: .string($0)) })
    }

    /// - Parameters:
    ///   - parameters: Those of ``AuthorizationResponse/names``.
    ///   - user: The name beside the code.
    private func finish(_ parameters: Query, _ request: Request, user: UserInfo? = nil) async throws -> Response {
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
            return try await finish(received, request).response
        }
        let brought = PercentEncoding.form(parameters.items.map { ($0.name, $0.value) })
        let key = TokenHash(
            sha256Of: "\(browser.exposed)\n\(received.provider)\n\(String(decoding: brought, as: UTF8.self))")
        let now = environment.clock.now()
        if let end = feature.ends.kept(key, at: now) { return try await again(end, request) }
        return try await feature.ends.end(for: key, at: now) { try await finish(received, request) }.response
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

    private func finish(_ received: AuthorizationResponse, _ request: Request) async throws -> RedirectEnds.End {
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
            await api.endFormerSession(of: request)
            api.forgetRegistration(of: request, in: &response)
        case .mustRegister(let offer):
            seconds = offer.expiresIn
            if let registration = api.registration,
                let location = end.locationAfterRegistration(at: api.baseURL.origin)
            {
                response.headers.append(try await registration.cookie(for: offer, endingAt: location, api))
            }
        case .handedOver: seconds = Self.sessionCodeLifetime
        case .errandDone, .taskEnded, .failed: break
        }
        return .init(
            response: response, token: token, expiresAt: seconds.map { environment.clock.now().advanced(bySeconds: $0) }
        )
    }

    // A browser that comes too late.

    func wayBack(from request: Request) -> (path: String, words: String) {
        let start =
            request.path.hasSuffix("/callback") ? api.cookies.start(of: request) ?? usualStart(of: request) : nil
        return start.map { ($0, "Start again") } ?? (signInPage, "Back to the sign-in page")
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

/// The ends of sign-ins. A browser that brings the same response again, by a double click, a prefetch or a restored
/// tab, gets the same end.
///
/// In memory: after a restart and at another instance, the browser is told that the sign-in is over.
final class RedirectEnds: Sendable {
    struct End: Sendable {
        let response: Response
        /// The token of the session that began.
        var token: Secret?
        /// When the `session_id` or the offer in the response expires.
        var expiresAt: Timestamp?

        /// What it takes in memory, about.
        fileprivate var bytes: Int {
            response.headers.reduce(512 + response.body.count) { $0 + 64 + $1.value.utf8.count }
        }
    }

    /// What the ends may take in memory: 4,000 with a session in cookies.
    static let maximumBytes = 4 << 20

    private struct State {
        /// The requests that wait for the first one with their response.
        var waiting: [TokenHash: [CheckedContinuation<Void, Never>]] = [:]
        var ended: BoundedCache<TokenHash, End>

        func kept(_ key: TokenHash, at now: Timestamp) -> End? {
            let end = ended.value(for: key, at: now)
            if let expiry = end?.expiresAt, expiry <= now { return nil }
            return end
        }
    }

    private let state: Mutex<State>

    /// - Parameter lifetime: How long an end is kept, in seconds, if there is room.
    init(lifetime: Int64) {
        state = Mutex(State(ended: BoundedCache(capacity: Self.maximumBytes, lifetime: lifetime)))
    }

    /// The end of a response that was brought before, if the frontend can still use it.
    /// - Parameter key: Stands for the browser and its response.
    func kept(_ key: TokenHash, at now: Timestamp) -> End? { state.withLock { $0.kept(key, at: now) } }

    /// The end of a response: one that another request finishes now or has just finished, or a new one. It is finished
    /// in the task of its request, which has a loop for the requests to the provider.
    func end(for key: TokenHash, at now: Timestamp, _ finish: () async throws -> End) async throws -> End {
        while true {
            let (ended, isFirst) = state.withLock { state in
                let ended = state.kept(key, at: now)
                let isFirst = ended == nil && state.waiting[key] == nil
                if isFirst { state.waiting[key] = [] }
                return (ended, isFirst)
            }
            if let ended { return ended }
            if isFirst { break }
            await withCheckedContinuation { waiting in
                let isOver = state.withLock { state in
                    state.waiting[key]?.append(waiting)
                    return state.waiting[key] == nil
                }
                if isOver { waiting.resume() }
            }
        }
        var end: End?
        defer {
            let waiting = state.withLock { state in
                if let end { state.ended.put(end, for: key, weighing: end.bytes, at: now) }
                return state.waiting.removeValue(forKey: key) ?? []
            }
            for request in waiting { request.resume() }
        }
        let new = try await finish()
        end = new
        return new
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
