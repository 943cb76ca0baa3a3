import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn

/// The routes of backchannel authentication (docs/approvals.md).
extension BackchannelAuthentication {
    static let path = "/auth/{provider}/backchannel"
    /// ZenKey's name for the former with its provider.
    static let carriersPath = "/auth/zenkey-async-signin"

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        add(Self.carriersPath, to: &router, of: api) { _ in "zenkey" }
        add(Self.path, to: &router, of: api, at: \.provider)
    }

    private func add(
        _ path: String, to router: inout Router, of api: LatchkeyAPI,
        at provider: @escaping @Sendable (Request) -> String
    ) {
        router.post(path, api.admitting(.entering) { try await start($0, $1, $2, at: provider($1)) })
        // For providers, which have no API key.
        router.post(path + "/notification") { try await receiveNotification($0, at: provider($0)) }
        let handle = path + "/{auth_req_id}"
        router.get(handle, api.admitting(.keyed) { try await poll($0, $1, $2, at: provider($1)) })
        router.post(handle, api.admitting(.entering) { try await retry($0, $1, $2, at: provider($1)) })
        router.delete(
            handle,
            api.admitting(.keyed) { _, request, admission in
                try await cancel(request.handle, at: provider(request), for: admission.caller)
                return .emptyObject
            })
    }

    private func start(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        let signIn = try BackchannelAuthenticationParameters(
            BodyFields(request, from: admission), at: api.useCases.providers.find(withoutOperators: provider),
            random: api.useCases.environment.random)
        try admission.check(signIn.terms.clientID.text)
        try api.useCases.check(key: admission.proof?.key, for: signIn.terms.clientID.text)
        return try await start(
            signIn, for: admission.caller, within: api.promptQuota(request, admission),
            notifiedAt: api.notificationEndpoint
        ).response
    }

    private func poll(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        let admission = try api.proving(admission, request)
        let handle = request.handle
        let outcome = try await poll(
            handle, at: provider, for: admission.caller, givingBackTo: api.allowance(.promptsPerCaller))
        switch outcome {
        case nil: return .json(.ok, capacity: 64) { $0.add("auth_req_id", handle.exposed) }
        case .signedIn(let signedIn):
            let given = try await api.given(signedIn, to: admission)
            return given.response(feature.settings.async302 ? .found : .ok) { json, _ in
                json.add("auth_req_id", handle.exposed)
            }
        case .mustRegister(let offer): throw APIError.mustRegister(offer, api.compatibility)
        }
    }

    private func retry(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission, at provider: String
    ) async throws -> Response {
        try await retry(
            request.handle, at: provider, for: admission.caller, within: api.promptQuota(request, admission),
            notifiedAt: api.notificationEndpoint
        ).response
    }

    /// The provider's callback. The token is checked first, so that others learn nothing.
    private func receiveNotification(_ request: Request, at provider: String) async throws -> Response {
        let token = try mappingErrors(try request.bearerToken().secret) { (_: APIError) in
            APIError.notificationTokenMissing
        }
        let notifier = try await authenticate(token, at: provider, requestID: request.id)
        let notification: BackchannelNotification
        do throws(APIError) {
            let fields = try BodyFields(request)
            notification = try BackchannelNotification(fields, isPing: notifier.isPing)
        } catch {
            await refuse(unreadable: error.description, from: notifier)
            throw error
        }
        do throws(SignInError) {
            try await receive(notification, from: notifier)
        } catch {
            guard error.code == .invalidIDToken else { throw error }
            throw APIError.notificationRefused(error)
        }
        return Response(status: .noContent, headers: [.cacheControl: "no-store"])
    }
}

extension LatchkeyAPI {
    /// Nil if the public URL is not configured.
    fileprivate var notificationEndpoint: EndpointURL? {
        baseURL.url.flatMap {
            EndpointURL($0 + BackchannelAuthentication.notificationPath, policy: .allowLoopbackHTTP)
        }
    }

    /// Pages without a key share an origin, so prompts count for each address.
    fileprivate func promptQuota(_ request: Request, _ admission: Admission) -> PromptQuota {
        PromptQuota(
            caller: caller(of: request, admission).hash, perUser: allowance(.promptsPerUser),
            perCaller: allowance(.promptsPerCaller))
    }
}

extension Request { fileprivate var handle: Secret { Secret(parameters["auth_req_id"] ?? "") } }

extension BackchannelAuthenticationStarted {
    fileprivate var response: Response {
        return .json(.ok, capacity: 160) { json in
            json.add("auth_req_id", handle.exposed)
            json.add("expires_in", expiresIn)
            if let interval { json.add("interval", interval) }
            json.add("correlation_id", correlationID.text)
        }
    }
}

extension APIError {
    /// 400: the ID token is invalid, not the provider's credentials.
    static func notificationRefused(_ error: SignInError) -> APIError {
        APIError(.badRequest, error.codeText, error.errorType, error.description)
    }

    fileprivate static let notificationTokenMissing = APIError(
        .unauthorized, "invalid_token", .invalidRequest,
        "The notification token is missing or malformed. Send Authorization: Bearer and the token of the request.",
        headers: [.wwwAuthenticate: "Bearer"])
}

extension BackchannelAuthenticationParameters {
    /// Reads a backchannel authentication from a body's fields (docs/approvals.md).
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields, at target: SignInTarget, random: RandomSource) throws(APIError) {
        if target.usesNetworkDiscovery {
            try self.init(ofCarrier: fields, target.reference.provider, random)
        } else {
            try self.init(ofProvider: fields, target.reference.provider, target.server, random)
        }
    }

    private init(ofCarrier fields: BodyFields, _ provider: String, _ random: RandomSource) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(required: true)
        var demand = AuthenticationDemand()
        demand.scopes = reader.scopes()
        let network = reader.network()
        let loginHint = reader.loginHint(at: network)
        let redirectURI = reader.redirectURI()
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255)
        demand.context = reader.context()
        demand.prompt = reader.prompt([.noInteraction, .login, .consent])
        let options = reader.visibleText("options", limit: 255, allowingSpaces: true)
        guard reader.problems.isEmpty, let clientID, let loginHint, let network, let redirectURI else {
            throw reader.refusal(correlationID)
        }
        self.init(
            terms: .init(
                provider: provider, clientID: clientID, demand: demand,
                carrier: .init(loginHint: loginHint, network: network, redirectURI: redirectURI, options: options),
                correlationID: correlationID ?? .random(from: random)), sentNames: reader.sentNames)
    }

    /// For another provider (CIBA Core section 7.1).
    private init(
        ofProvider fields: BodyFields, _ provider: String, _ server: AuthorizationServer, _ random: RandomSource
    ) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(at: server)
        var demand = AuthenticationDemand()
        demand.scopes = reader.scopes(usually: clientID.flatMap { server.clients[$0]?.scopes } ?? ["openid"])
        let user = reader.userHint()
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255)
        let bindingMessage = reader.value(
            "binding_message", ["bindingMessage"], limit: BindingMessage.maximumLength * 4,
            demand: "must be 1 to \(BindingMessage.maximumLength) letters, digits, signs and single spaces",
            BindingMessage.init)
        let requestedExpiry = reader.seconds(
            "requested_expiry", ["requestedExpiry"], upTo: BackchannelAuthenticationResponse.longestLifetime)
        if requestedExpiry == 0 { reader.refuse("requested_expiry", "must be at least 1") }
        let userCode = reader.visibleText("user_code", ["userCode"], limit: 128)
        guard reader.problems.isEmpty, let clientID, let user else { throw reader.refusal(correlationID) }
        var message = BackchannelAuthenticationRequest(scopes: demand.scopes, hint: user.hint)
        message.bindingMessage = bindingMessage
        message.requestedExpiry = requestedExpiry
        message.userCode = userCode.map { Secret($0) }
        self.init(
            terms: .init(
                provider: provider, clientID: clientID, demand: demand,
                correlationID: correlationID ?? .random(from: random)),
            ofProvider: (user, message), sentNames: reader.sentNames)
    }
}

extension FieldReader {
    /// In a form an unencoded `+`, with which phone numbers begin, is a space.
    /// - Parameter network: Nil if it was refused; the hint is not read then.
    fileprivate mutating func loginHint(at network: MCCMNC?) -> LoginHint? {
        let demand = LoginHint.demand + (isForm ? " (in a form, + is sent as %2B)" : "")
        guard let text = text("login_hint", ["loginHint"], limit: 255, required: true), let network else { return nil }
        return LoginHint(text, at: network) ?? refused(sentName("login_hint"), demand)
    }

    /// Exactly one of the three hints.
    fileprivate mutating func userHint() -> UserHint? {
        let before = problems.count
        let hints = [
            value(
                "login_hint", ["loginHint"], limit: 255,
                demand: "must be a text without control characters and without spaces around it"
                    + (isForm ? " (in a form, + is sent as %2B)" : ""), UserHint.init(loginHint:)),
            value(
                "login_hint_token", ["loginHintToken"], limit: 8192, demand: "must be visible ASCII characters",
                UserHint.init(loginHintToken:)),
            value(
                "id_token_hint", ["idTokenHint"], limit: 16_384, demand: "must be an ID token",
                UserHint.init(idTokenHint:)),
        ].compactMap(\.self)
        guard problems.count == before else { return nil }
        guard let hint = hints.first, hints.count == 1 else {
            let problem = hints.isEmpty ? "is missing, and so are" : "must not be sent beside"
            return refused("login_hint", "\(problem) login_hint_token and id_token_hint: send one of the three")
        }
        return hint
    }

    /// - Parameter usual: Without the field; nil if it is required.
    fileprivate mutating func scopes(usually usual: [String]? = nil) -> [String] {
        guard has("scope") else {
            if let usual { return usual.contains("openid") ? usual : ["openid"] + usual }
            refuse("scope", "is missing")
            return []
        }
        let before = problems.count
        let scopes = words("scope", limit: 1024)
        if problems.count == before, !scopes.contains("openid") { refuse("scope", "must have openid among its words") }
        return scopes
    }
}

extension BackchannelNotification {
    /// Reads a provider's notification from a body's fields.
    /// - Parameter isPing: Whether it says that a request's tokens are ready. Then nothing but the id counts (CIBA Core
    ///   section 10.2).
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields, isPing: Bool) throws(APIError) {
        var reader = FieldReader(fields)
        let requestID = reader.visibleText("auth_req_id", limit: 512, required: true)
        var state: String?
        var outcome = Outcome.ready
        if !isPing {
            state = reader.text("state", limit: 1024)
            let code = reader.text("error", limit: 255)
            let idToken = reader.visibleText("id_token", limit: 32_768)
            let accessToken = reader.visibleText("access_token", limit: 8192)
            if let code {
                outcome = .refused(code)
            } else if let idToken {
                outcome = .approved(idToken: Secret(idToken), accessToken: accessToken.map(Secret.init))
            } else {
                reader.refuse("id_token", "is missing, and so is error")
            }
        }
        guard reader.problems.isEmpty, let requestID else { throw reader.refusal() }
        self.init(requestID: Secret(requestID), state: state.map(Secret.init), outcome: outcome)
    }
}
