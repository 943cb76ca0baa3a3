public import HTTPServer
package import HTTPTypes
package import Primitives
package import SignIn
public import StorageModel

/// The access rules of routes: wrappers around the handlers of ``makeRouter()``.
extension LatchkeyAPI {
    package typealias PagedRoute = @Sendable (LatchkeyAPI, Request) async throws -> Response
    /// A route for a caller with an API key.
    public typealias KeyedRoute = @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    package typealias ImmediateKeyedRoute = @Sendable (LatchkeyAPI, Request, Admission) throws -> ValueOrTask<Response>
    /// A route for a caller with a session.
    public typealias SignedInRoute = @Sendable (LatchkeyAPI, Request, SignedInCaller) async throws -> Response
    typealias ImmediateSignedInRoute =
        @Sendable (LatchkeyAPI, Request, SignedInCaller) throws -> ValueOrTask<Response>

    /// Who may call a route that needs no session.
    public enum CallerRule: Sendable {
        /// A caller with an API key, or on an allowed origin, checked before anything else.
        case keyed
        /// As ``keyed``, for routes that begin or renew a session.
        case entering
        /// As ``entering``, also without an API key for pages of this server's own origin, whose session is in cookies.
        case enteringOrPage
        /// The administrator's other services: an allowed origin does not replace the key.
        case service
    }

    /// A route for callers whom a rule admits, each with the terms on which it was admitted.
    public func admitting(_ rule: CallerRule, _ route: @escaping KeyedRoute) -> ImmediateHandler {
        admitting(rule, immediate: { api, request, admission in .task { try await route(api, request, admission) } })
    }

    /// The terms of a caller who gets a session, with the proof of its key, if it has one.
    /// - Throws: 400 for a proof that does not hold.
    package func proving(_ admission: Admission, _ request: Request) throws(APIError) -> Admission {
        guard let proof = try keyProofs?.proof(of: request, to: self) else { return admission }
        return altered(admission) { $0.proof = proof }
    }

    /// As ``admitting(_:_:)``, for routes that do something before they wait, or need not wait.
    package func admitting(_ rule: CallerRule, immediate route: @escaping ImmediateKeyedRoute) -> ImmediateHandler {
        { request in
            let entersSession = rule == .entering || rule == .enteringOrPage
            let page = rule == .enteringOrPage ? try self.admitPage(request) : nil
            if entersSession { try self.rates.countSignIn(of: request) }
            if let page { return try route(self, request, page) }
            switch try rule == .service ? self.serviceAdmission(of: request) : self.admission(of: request) {
            case .value(let admission):
                return try route(self, request, entersSession ? self.proving(admission, request) : admission)
            case .task(let work):
                return .task {
                    let admission = try await work()
                    return try await route(
                        self, request, entersSession ? self.proving(admission, request) : admission
                    ).run()
                }
            }
        }
    }

    /// As ``paged(_:)``, for routes that start a stored sign-in.
    package func starting(_ route: @escaping PagedRoute) -> Handler {
        paged { api, request in
            try api.rates.countStart(of: request)
            return try await route(api, request)
        }
    }

    /// Counts a sign-in, registration or refresh of an address, for a route that needs no API key.
    /// - Throws: 429.
    package func countSignIn(of request: Request) throws(APIError) { try rates.countSignIn(of: request) }

    /// As ``signedIn(_:)``, for routes that change an account.
    public func changing(_ route: @escaping SignedInRoute) -> ImmediateHandler {
        signedIn { api, request, caller in
            try await api.rates.countChange(of: caller.holder.user.id, with: api.useCases.sessions)
            return try await route(api, request, caller)
        }
    }

    /// A route for signed-in callers. A browser sends its session cookie alone and needs no API key.
    ///
    /// The session is looked up here, once per request: the route gets it as a value.
    public func signedIn(_ route: @escaping SignedInRoute) -> ImmediateHandler {
        signedIn(immediate: { api, request, caller in .task { try await route(api, request, caller) } })
    }

    /// As ``signedIn(_:)``, for routes that mostly need not wait.
    func signedIn(immediate route: @escaping ImmediateSignedInRoute) -> ImmediateHandler {
        { request in
            if self.isPage(request) {
                return try self.respond(to: request, Admission(ground: .cookie, clients: nil), route)
            }
            switch try self.admission(of: request) {
            case .value(let admission): return try self.respond(to: request, admission, route)
            case .task(let work): return .task { try await self.respond(to: request, try await work(), route).run() }
            }
        }
    }

    private func respond(
        to request: Request, _ admission: Admission, _ route: @escaping ImmediateSignedInRoute
    ) throws -> ValueOrTask<Response> {
        let token = try sessionToken(of: request)
        switch token.bytes.withUnsafeBufferPointer(useCases.sessions.lookUp) {
        case .value(let holder):
            return try route(self, request, SignedInCaller(admission: admission, token: token, holder: holder))
        case .task(let work):
            return .task {
                let caller = try SignedInCaller(admission: admission, token: token, holder: try await work())
                return try await route(self, request, caller).run()
            }
        }
    }

    /// As ``signedIn(_:)``, for routes that end a session. A browser's cookies go to `page` unchecked, because the
    /// session token in them may have expired before.
    package func signedIn(orPage page: @escaping PagedRoute, _ route: @escaping SignedInRoute) -> ImmediateHandler {
        let signedIn = signedIn(route)
        return { request in
            self.isPage(request) ? .task { try await page(self, request) } : try signedIn(request)
        }
    }

    /// A route for browser navigation: errors are pages, or JSON if the client accepts that first.
    package func paged(_ route: @escaping PagedRoute) -> Handler {
        { request in
            do {
                return try await route(self, request)
            } catch {
                let error = self.render(error)
                guard !request.prefersJSON else { throw error }
                return BrowserPages.failure(
                    error, requestID: request.id, below: self.baseURL.path, back: self.redirects?.wayBack(from: request)
                )
            }
        }
    }

    // MARK: Authentication of requests

    /// As ``admission(of:)``, for routes that need no key: nil without a key and an allowed origin. A key that is sent
    /// counts.
    package func admitIfNamed(_ request: Request) async throws -> Admission? {
        let isNamed = request.headers.count(of: .apiKey) > 0 || crossOrigin.grant(of: request) != nil
        return isNamed ? try proving(try await admission(of: request).run(), request) : nil
    }

    /// For whom a call counts in the store: pages without a key share an origin, so that each address counts.
    package func caller(of request: Request, _ admission: Admission) -> Caller {
        guard case .origin = admission.ground, let address = rates.proxies.client(of: request) else {
            return admission.caller
        }
        return Caller(address: address.network)
    }

    /// Whether a trusted proxy sent a request on: what its fields say of the request is true.
    package func isForwarded(_ request: Request) -> Bool { rates.proxies.forwards(request) }

    /// The quota of what is counted in the store; nil for no limit.
    package func allowance(_ limit: RateLimit) -> SharedAllowance? { rates.allowance(limit) }

    /// What a caller may use of the providers.
    package func terms(of request: Request, _ admission: Admission?) -> CallerTerms {
        CallerTerms(
            clients: admission?.clients, key: admission?.keyCaller.hash, address: rates.proxies.client(of: request),
            port: rates.proxies.clientPort(of: request))
    }

    /// Admits a request by its API key, or without one by its origin; at once for configured keys.
    /// - Throws: 401; 503 if the store cannot look the key up.
    func admission(of request: Request) throws -> ValueOrTask<Admission> {
        guard let key = request.headers.bytes(of: .apiKey) else {
            guard request.headers.count(of: .apiKey) == 0, let (origin, grant) = crossOrigin.grant(of: request) else {
                throw Self.unknownCaller(of: request)
            }
            return .value(Admission(ground: .origin(origin), clients: grant.clients))
        }
        return try admission(of: request, by: key)
    }

    /// Admits a service by its API key, in `X-API-KEY` or as the password of HTTP Basic, as the libraries of resource
    /// servers send it. The user name is not read.
    private func serviceAdmission(of request: Request) throws -> ValueOrTask<Admission> {
        if let key = request.headers.bytes(of: .apiKey) {
            return try admission(of: request, by: key, orElse: .invalidServiceKey)
        }
        guard request.headers.count(of: .apiKey) == 0, let password = request.basicCredentials?.password else {
            throw APIError.invalidServiceKey
        }
        // OAuth 2 has it form-encoded (RFC 6749 section 2.3.1), HTTP as it is.
        let decoded = PercentEncoding.decodeForm(password).map { Array($0.utf8)[...] }
        return try admission(of: request, by: password, or: decoded, orElse: .invalidServiceKey)
    }

    /// - Parameter other: The key in another form, which counts if the first is unknown.
    private func admission(
        of request: Request, by key: ArraySlice<UInt8>, or other: ArraySlice<UInt8>? = nil,
        orElse refusal: APIError? = nil
    ) throws -> ValueOrTask<Admission> {
        let hash = key.withUnsafeBufferPointer { TokenHash(sha256Of: $0) }
        if let grant = apiKeys.grant(for: hash) { return .value(try admission(by: key, hash, grant, of: request)) }
        return .task {
            if let grant = try await self.useCases.apiKeys.grant(for: hash) {
                return try self.admission(by: key, hash, grant, of: request)
            }
            guard let other else { throw refusal ?? Self.unknownCaller(of: request) }
            return try await self.admission(of: request, by: other, orElse: refusal).run()
        }
    }

    /// The refusal of a request without a valid key. A browser sends `Origin` for each page of another origin.
    private static func unknownCaller(of request: Request) -> APIError {
        request.headers[.origin] == nil ? .invalidAPIKey : .invalidAPIKeyOfPage
    }

    private func admission(
        by key: ArraySlice<UInt8>, _ hash: TokenHash, _ grant: APIGrant, of request: Request
    ) throws(APIError) -> Admission {
        if let origins = grant.origins {
            guard let origin = CrossOrigin.origin(of: request), origins.contains(origin) else {
                throw .keyNotForOrigin
            }
        }
        try rates.countKey(hash.number)
        return Admission(ground: .key(key, hash), clients: grant.clients, isAdministrator: grant.isAdministrator)
    }

    /// The session token of a signed-in caller: from `Authorization`, or from the browser's cookie.
    /// - Throws: 401 without one; 403 for a change by cookie that is not from a page of this server.
    func sessionToken(of request: Request) throws(APIError) -> PresentedToken {
        guard request.headers.count(of: .authorization) == 0, let token = cookies.session(of: request) else {
            if let bound = try keyProofs?.token(of: request, to: self) { return PresentedToken(bound) }
            return try request.bearerToken()
        }
        if request.method != .get, request.method != .head { try checkSameOrigin(request) }
        return PresentedToken(token)
    }

    package var cookies: BrowserCookies { BrowserCookies(isSecure: baseURL.url?.hasPrefix("https://") ?? true) }

    /// Admits administrators: directly from this machine, or with an administrator's API key.
    /// - Throws: 404 for others; 401 or 403 for an API key that is not an administrator's.
    package func admitAdministrator(_ request: Request) async throws {
        if request.headers.count(of: .apiKey) > 0 {
            guard try await admission(of: request).run().isAdministrator else { throw APIError.notForAdministrators }
        } else {
            // Against DNS rebinding: another site's name could resolve to this machine.
            guard rates.proxies.admit(request, from: IPAddressRange.loopback), Self.isNamedLocally(request),
                !Self.isOfAnotherSite(request)
            else { throw APIError.nothingThere }
        }
    }

    /// Whether a browser reports a page of another origin, even one that the API allows.
    private static func isOfAnotherSite(_ request: Request) -> Bool {
        // A browser sends each once. The first of several is not the whole value.
        guard request.headers.count(of: .secFetchSite) <= 1, request.headers.count(of: .origin) <= 1 else {
            return true
        }
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" { return true }
        guard let origin = request.headers[.origin] else { return false }
        let host = request.headers[.host] ?? ""
        return origin != "http://\(host)" && origin != "https://\(host)"
    }

    /// Whether the Host field is a loopback name or address.
    private static func isNamedLocally(_ request: Request) -> Bool {
        guard let host = request.headers[.host] else { return false }
        let name = host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" }
        return name.lowercased() == "localhost" || IPAddress(String(name))?.isLoopback == true
    }
}

extension APIError {
    static let notForAdministrators = APIError(
        .forbidden, "unauthorized_client", .configurationError,
        "This API key is not an administrator's. The administrator must give it operator: true in the configuration.")
}

/// The terms on which a request was admitted.
public struct Admission: Sendable {
    enum Ground: Sendable, Redacted {
        /// An API key: the bytes that were received, and their SHA-256. Only a few routes need a `String` of them.
        case key(ArraySlice<UInt8>, TokenHash)
        case origin(String)
        /// A browser's cookies alone, from a page of this server's own origin.
        case cookie
    }

    let ground: Ground
    /// The clients whose users and sessions the caller may access; nil for all.
    package let clients: Set<String>?
    var isAdministrator = false
    /// Of the key that the caller has sent a proof of.
    package var proof: KeyProof?

    /// Whether the caller's session is in its browser's cookies.
    package var isPage: Bool { if case .cookie = ground { true } else { false } }

    package var isByKey: Bool { if case .key = ground { true } else { false } }

    package func allows(_ client: String) -> Bool { clients?.contains(client) ?? true }

    /// - Throws: 403 if the caller may not access the client.
    package func check(_ client: String) throws(APIError) {
        guard allows(client) else { throw .clientNotAllowed }
    }

    package var caller: Caller {
        switch ground {
        case .key(let key, _): Caller(apiKey: String(decoding: key, as: UTF8.self))
        case .origin(let origin): Caller(origin: origin)
        case .cookie: Caller(origin: "")
        }
    }

    /// For an API key, by the hash by which it was admitted.
    var keyCaller: Caller { if case .key(_, let hash) = ground { Caller(apiKeyHash: hash) } else { caller } }

    /// Tells the callers of sign-ins apart, also by the keys that they have proved.
    package var signInCaller: Caller { proof.map { keyCaller.proving($0.key) } ?? keyCaller }
}

/// A caller with a session, as ``LatchkeyAPI/signedIn(_:)`` found it.
public struct SignedInCaller: Sendable {
    package let admission: Admission
    private let presented: PresentedToken
    /// The session, and its user.
    public let holder: SessionAndUser

    package var token: Secret { presented.secret }

    /// - Throws: 401 without a session; 403 if it is of a client that the caller may not access.
    init(admission: Admission, token: PresentedToken, holder: SessionAndUser?) throws(APIError) {
        guard let holder else { throw SessionTokenFormat.isBound(token.bytes) ? .boundTokenInvalid : .sessionInvalid }
        // Otherwise a key that is for one client could be used on the sessions of all.
        try admission.check(holder.session.clientID)
        self.admission = admission
        presented = token
        self.holder = holder
    }
}

extension APIError {
    /// As ``SignInError/clientNotAllowed``, for a call that the published apps do not send as a sign-in: 403, because
    /// the caller is known.
    static let clientNotAllowed: APIError = {
        let error = SignInError.clientNotAllowed
        return APIError(.forbidden, error.codeText, error.errorType, error.description)
    }()

    static let keyNotForOrigin = APIError(
        .unauthorized, "invalid_api_key", .configurationError,
        "This API key is valid from certain origins only, and the Origin of the request is not one of them.",
        headers: [.wwwAuthenticate: #"ApiKey name="X-API-KEY""#])
}

/// A session token as a request has it. Most routes need only its hash, and no `Secret` of it.
package struct PresentedToken: Sendable, Redacted {
    /// UTF-8, in the place where it was received.
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    init(_ secret: Secret) { bytes = Array(secret.exposed.utf8)[...] }

    package var secret: Secret { Secret(String(decoding: bytes, as: UTF8.self)) }
}

/// Lets web frontends on other origins call the API from a browser (CORS, the Fetch standard): allowed origins, and the
/// origins of API keys.
struct CrossOrigin: Sendable {
    private let grants: [String: APIGrant]
    private let keyed: Set<String>
    private let stored: StoredAPIKeys

    /// - Parameter origins: As browsers write them in `Origin`: scheme, host and, unless it is the scheme's own, port.
    init(_ origins: [String], clientOrigins: [String: Set<String>], keys: APIKeys, stored: StoredAPIKeys) {
        grants = clientOrigins.mapValues { APIGrant(clients: $0) }
            .merging(origins.map { ($0, APIGrant()) }) { $1 }
        keyed = keys.origins
        self.stored = stored
    }

    /// The grant of a request's origin without an API key; nil if there is none.
    func grant(of request: Request) -> (origin: String, grant: APIGrant)? {
        guard !grants.isEmpty, let origin = Self.origin(of: request), let grant = grants[origin] else { return nil }
        return (origin, grant)
    }

    /// The origin of a request. Only ASCII, as browsers send it: other strings can be equal with different bytes.
    static func origin(of request: Request) -> String? {
        guard let origin = request.headers[.origin], origin.isASCII else { return nil }
        return origin
    }

    func isPreflight(_ request: Request) -> Bool {
        request.method == .options && request.headers[.accessControlRequestMethod] != nil
    }

    /// The response to a preflight request of an allowed origin; nil for any other request. Browsers cache it for at
    /// most two hours.
    func preflight(_ request: Request) async -> Response? {
        guard isPreflight(request), let origin = Self.origin(of: request) else { return nil }
        // A preflight does not name the key: any key for the origin admits it.
        await stored.refresh()
        guard isAllowed(origin) else { return nil }
        var headers: HTTPFields = [
            .accessControlAllowMethods: "GET, POST, PATCH, DELETE",
            .accessControlAllowHeaders: (["Authorization, Content-Type, X-API-KEY"] + Self.fields(of: request))
                .joined(separator: ", "),
            .accessControlMaxAge: "7200",
        ]
        // A public page calls a server in a private network (WICG Private Network Access section 3.1).
        if request.headers[.requestPrivateNetwork] == "true" { headers[.allowPrivateNetwork] = "true" }
        return Response(status: .noContent, headers: headers)
    }

    /// The names of the fields that a page will send. An allowed origin may send any: tracing libraries add theirs to
    /// every request. Here they are ignored, and what browsers let no page send, no page can send by this.
    private static func fields(of request: Request) -> [String] {
        request.headers.values(of: .accessControlRequestHeaders).filter { names in
            !names.isEmpty && names.utf8.allSatisfy { $0.isToken || ", ".utf8.contains($0) }
        }
    }

    /// Adds the CORS fields. Without allowed origins, responses do not depend on the origin.
    func mark(_ response: inout Response, for request: Request) {
        guard !grants.isEmpty || !keyed.isEmpty || !stored.origins.isEmpty else { return }
        response.headers.append(HTTPField(name: .vary, value: "Origin"))
        guard let origin = Self.origin(of: request), isAllowed(origin) else { return }
        response.headers.append(HTTPField(name: .accessControlAllowOrigin, value: origin))
        response.headers.append(
            HTTPField(
                name: .accessControlExposeHeaders,
                value: "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate"))
    }

    private func isAllowed(_ origin: String) -> Bool {
        grants[origin] != nil || keyed.contains(origin) || stored.origins.contains(origin)
    }
}

extension HTTPField.Name {
    // Each text is a token, so the fallback is never used.
    fileprivate static let allowPrivateNetwork = HTTPField.Name("Access-Control-Allow-Private-Network") ?? .from
    package static let apiKey = HTTPField.Name("X-API-KEY") ?? .from
    /// RFC 7239.
    static let forwarded = HTTPField.Name("Forwarded") ?? .from
    static let rateLimit = HTTPField.Name("RateLimit") ?? .from
    static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy") ?? .from
    fileprivate static let requestPrivateNetwork = HTTPField.Name("Access-Control-Request-Private-Network") ?? .from
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .from
    /// W3C Trace Context section 3.2.
    static let traceparent = HTTPField.Name("traceparent") ?? .from
    /// W3C Trace Context section 3.3.
    static let tracestate = HTTPField.Name("tracestate") ?? .from
    static let xForwardedFor = HTTPField.Name("X-Forwarded-For") ?? .from
}
