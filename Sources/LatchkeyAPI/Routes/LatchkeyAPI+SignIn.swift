import Glibc
package import HTTPServer
package import HTTPTypes
import OpenIDConnect
package import Primitives
package import SignIn

extension LatchkeyAPI {
    package func signIn(
        _ request: Request, _ admission: Admission, provider: String
    ) throws -> ValueOrTask<Response> {
        let signIn = try signInRequest(
            BodyFields(request, from: admission), at: provider, terms: terms(of: request, admission),
            caller: admission.signInCaller, device: DeviceName.of(request))
        return .task { try await self.complete(try await signIn.run(), admission, request) }
    }

    /// Reads a sign-in. At once, unless it is at a group of servers: the feature of its kind reads it
    /// (``APIFeature/signInRequest(_:at:of:terms:caller:device:)``), and may have to look the server up.
    /// - Throws: `not_found` for an unknown provider; 400 that names every missing or malformed field.
    package func signInRequest(
        _ fields: BodyFields, at name: String, terms: @autoclosure () -> CallerTerms, caller: Caller? = nil,
        device: String? = nil
    ) throws -> ValueOrTask<SignInRequest> {
        guard let provider = useCases.providers[name], provider.group != nil else {
            let target = try useCases.providers.find(withoutOperators: name)
            return .value(try SignInRequest(fields, at: target, caller: caller, device: device))
        }
        let terms = terms()
        return .task {
            for feature in self.features {
                let request = try await feature.signInRequest(
                    fields, at: provider, of: self, terms: terms, caller: caller, device: device)
                if let request { return request }
            }
            throw SignInError.internalFault
        }
    }

    /// Signs a user in, and responds with the session or the offer of a registration.
    package func complete(
        _ signIn: SignInRequest, _ admission: Admission, _ request: Request
    ) async throws -> Response {
        // At a group, the body may name another client than the administrator's.
        guard admission.allows(signIn.clientID.text) else { throw SignInError.clientNotAllowed }
        try useCases.check(key: admission.proof?.key, for: signIn.clientID.text)
        switch try await useCases.signIn(signIn) {
        case .signedIn(let signedIn): return try await respond(signedIn, .ok, to: admission, request)
        case .mustRegister(let offer):
            var error = APIError.mustRegister(offer, compatibility)
            if admission.isPage, let url = baseURL.url, let registration {
                let location = url + "/?action=login&status=success"
                error.headers.append(try await registration.cookie(for: offer, endingAt: location, self))
            }
            throw error
        }
    }

    /// Responds with a new session: tokens, or cookies for a page.
    package func respond(
        _ signedIn: SignedIn, _ status: HTTPResponse.Status, to admission: Admission, _ request: Request
    ) async throws(SignInError) -> Response {
        guard admission.isPage else { return try await given(signedIn, to: admission).response(status) }
        await endFormerSession(of: request, besides: signedIn.tokens)
        var response = inCookies(signedIn, status)
        forgetRegistration(of: request, in: &response)
        return response
    }

    /// A new session as its app gets it (``UseCases/given(_:to:key:)``).
    package func given(_ signedIn: SignedIn, to admission: Admission?) async throws(SignInError) -> SignedIn {
        try await admission?.proof?.spend()
        guard useCases.sessions.hasOtherTokens else { return signedIn }
        let caller = admission?.caller ?? Caller(origin: "")
        return try await useCases.given(signedIn, to: caller, key: admission?.proof?.key)
    }

    /// A body is ignored.
    func issueNonce(_ request: Request, _ admission: Admission) async throws -> Response {
        // Each is stored, as a start is.
        if admission.isPage { try rates.countStart(of: request) }
        let issued = try await useCases.nonceIssuer.issue(
            provider: request.provider, for: terms(of: request, admission))
        return .json(.ok, capacity: 128) { json in
            json.add("nonce", issued.nonce.exposed)
            json.add("state", issued.state.exposed)
            json.add("expires_in", issued.expiresIn)
        }
    }
}

extension SignedIn {
    /// The token response; without tokens for a page, whose tokens are in cookies. `token` and `expires` are for the
    /// example apps, `access_token` and `expires_in` with the same values for OAuth clients (RFC 6749 section 5.1).
    package func response(
        _ status: HTTPResponse.Status, withTokens: Bool = true,
        _ more: (inout JSONObjectWriter, SignedIn) -> Void = { _, _ in }
    ) -> Response {
        .json(status, capacity: 384) { json in
            if withTokens {
                json.add("token", tokens.token.exposed)
                json.add("access_token", tokens.token.exposed)
                json.add("refresh_token", tokens.refreshToken.exposed)
                json.add("token_type", tokens.key == nil ? "bearer" : "DPoP")
            }
            json.add("expires", tokens.expiresIn)
            json.add("expires_in", tokens.expiresIn)
            json.add("new_user", isNew)
            json.add("correlation_id", correlationID.text)
            more(&json, self)
        }
    }
}

extension SignInRequest {
    /// Reads a sign-in from a body's fields, or with `isTransaction` the approval of a transaction, which requires
    /// `context` and `acr_values` (docs/approvals.md).
    /// - Parameter target: Gives the client and the redirect URI that the body leaves out, if there is only one.
    ///   `mccmnc` is read for carriers only.
    /// - Throws: 400 that names every missing or malformed field.
    package convenience init(
        _ fields: BodyFields, at target: SignInTarget, isTransaction: Bool = false, caller: Caller? = nil,
        device: String? = nil
    ) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(at: target.server)
        let code = reader.visibleText("code", limit: 16 * 1024, required: true, allowingSpaces: true)
        let network = target.usesNetworkDiscovery ? reader.network() : nil
        let redirectURI = reader.redirectURI(of: clientID, at: target.server)
        let codeVerifier = reader.codeVerifier()
        let nonce = reader.text("nonce", limit: 512)
        var demand = AuthenticationDemand()
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255, required: isTransaction)
        demand.context = reader.context(required: isTransaction)
        let state = reader.text("state", limit: 1024)
        demand.scopes = reader.words("scope", limit: 1024)
        guard reader.problems.isEmpty, let clientID, let code else { throw reader.refusal(correlationID) }
        self.init(
            provider: target.reference, clientID: clientID, code: Secret(code), network: network,
            redirectURI: redirectURI, codeVerifier: codeVerifier, nonce: nonce.map(Secret.init), demand: demand,
            state: state, correlationID: correlationID, sentNames: reader.sentNames, caller: caller, device: device,
            unconfirmed: reader.raw("user").flatMap(UserInfo.init(beside:)))
    }
}

/// Guesses a name of the device from `User-Agent`, for the list of sessions.
///
/// Coarse on purpose: one of a few dozen names, so that no input is stored or shown, and users cannot be identified by
/// it.
package enum DeviceName {
    package static func of(_ request: Request) -> String? { request.headers[.userAgent].flatMap(name(ofUserAgent:)) }

    /// Such as `Firefox on Windows` or `iPhone`; nil if nothing is recognised.
    static func name(ofUserAgent text: String) -> String? {
        let agent = String(decoding: text.utf8.prefix(512), as: UTF8.self)
        func first(of marks: Marks) -> String? {
            agent.withCString { agent in marks.first { strstr(agent, $0.mark.text) != nil }?.name }
        }
        switch (first(of: browsers), first(of: systems)) {
        case (let browser?, let system?): return "\(browser) on \(system)"
        case (let name?, nil), (nil, let name?): return name
        case (nil, nil): return nil
        }
    }

    private typealias Marks = [(mark: StaticString, name: String)]

    /// The more specific mark first: an iPad may send Macintosh, Android sends Linux, and all browsers send Mozilla.
    private static let systems: Marks = [
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("okhttp/", "Android"), ("CrOS", "ChromeOS"),
        ("Windows", "Windows"), ("Macintosh", "Mac"), ("CFNetwork/", "Apple device"), ("Linux", "Linux"),
    ]
    /// Edge and Opera also send Chrome, and Chrome also sends Safari.
    private static let browsers: Marks = [
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"), ("SamsungBrowser/", "Samsung Internet"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]
}

extension StaticString {
    /// As C reads it, without a copy.
    fileprivate var text: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}
