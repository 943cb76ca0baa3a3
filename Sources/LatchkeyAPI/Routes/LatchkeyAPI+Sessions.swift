package import HTTPServer
import HTTPTypes
import Primitives
package import SignIn
import StorageModel

extension LatchkeyAPI {
    func refresh(_ request: Request, _ admission: Admission) async throws -> Response {
        guard !admission.isPage else { return try await refreshPage(request, admission) }
        var refresh = try RefreshRequest(BodyFields(request, from: admission), caller: admission.caller)
        refresh.clients = admission.clients
        refresh.key = admission.proof?.key
        try await admission.proof?.spend()
        return try await useCases.sessions.given(try await useCases.refresh(refresh)).response(.ok)
    }

    func signOut(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.sessions.signOut(caller.holder, requestID: request.id)
        return withoutSession(.emptyObject, request)
    }

    func listSessions(_ caller: SignedInCaller) async throws -> Response {
        let sessions = try await useCases.sessions.list(for: caller.holder)
        return .json(.ok, capacity: 256 * (sessions.count + 1)) { json in
            json.add("sessions", objects: sessions) { session, json in
                json.add("id", session.id)
                json.add("client_id", session.clientID)
                json.add("device", orNull: session.device)
                json.add("created_at", session.createdAt.secondsSinceEpoch)
                json.add("last_seen_at", session.lastSeenAt.secondsSinceEpoch)
                json.add("expires_at", session.expiresAt.secondsSinceEpoch)
                json.add("current", session.id == caller.holder.session.id)
            }
        }
    }

    func revokeSession(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.sessions.revoke(request.parameters["id"] ?? "", for: caller.holder, requestID: request.id)
        return .emptyObject
    }

    func revokeOtherSessions(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let count = try await useCases.sessions.revokeOthers(than: caller.holder, requestID: request.id)
        return .json(.ok, capacity: 32) { json in json.add("revoked", count) }
    }

    // MARK: The session of a page of this server's own origin, in two cookies that no script reads (docs/sessions.md)

    /// Whether a request has a browser's session and no other credentials.
    func isPage(_ request: Request) -> Bool { request.hasNoCredentials && cookies.hasSession(request) }

    /// Admits a request for a session in cookies without an API key: by `client_type`, or, to renew one, by its cookies
    /// alone.
    /// - Returns: Nil for any other request.
    /// - Throws: 413 for a form that is too large for a caller without an API key. 403 unless the browser reports a
    ///   page of this server: another site's page could sign the browser in as another user, or spend the refresh
    ///   token.
    func admitPage(_ request: Request) throws(APIError) -> Admission? {
        guard request.hasNoCredentials, let fields = try fieldsOfPage(request) else { return nil }
        let isRefresh = fields["refresh_token"] == nil && fields["refreshToken"] == nil && isPage(request)
        let clientType = fields["client_type"]?.string ?? fields["clientType"]?.string
        guard clientType == ClientType.web.rawValue || isRefresh && request.path == "/auth/token" else {
            return nil
        }
        try checkSameOrigin(request)
        return Admission(ground: .cookie, clients: nil)
    }

    /// Nil for a body that cannot be read: the caller's right to send it is checked first.
    private func fieldsOfPage(_ request: Request) throws(APIError) -> BodyFields? {
        do throws(APIError) {
            return try BodyFields(request)
        } catch {
            guard error.status != .contentTooLarge else { throw error }
            return nil
        }
    }

    /// Checks that a browser reports a page of this server as the origin of a request.
    ///
    /// Scripts cannot set either field, so another site's page cannot use a session cookie to change something. A
    /// browser that sends neither is too old, and is refused.
    package func checkSameOrigin(_ request: Request) throws(APIError) {
        if let site = request.headers[.secFetchSite] {
            guard site == "same-origin" else { throw .crossSiteRequest }
        } else {
            guard let origin = request.headers[.origin], origin == baseURL.origin else { throw .crossSiteRequest }
        }
    }

    /// Renews the session of a page.
    ///
    /// A refusal leaves the cookies as they are: they may by now belong to a session that another tab has begun.
    func refreshPage(_ request: Request, _ admission: Admission) async throws -> Response {
        guard let refreshToken = cookies.refresh(of: request) else { throw APIError.sessionMissing }
        let refresh = try RefreshRequest(BodyFields(request), caller: admission.caller, cookie: refreshToken)
        return inCookies(try await useCases.refresh(refresh), .ok)
    }

    /// Ends the session of a page, whose session token may have expired before.
    package func signOutPage(_ request: Request) async throws -> Response {
        try checkSameOrigin(request)
        do throws(SignInError) {
            if let token = cookies.session(of: request) {
                try await useCases.sessions.signOut(token, requestID: request.id)
            }
        } catch {
            guard error.code == .invalidToken else { throw error }
        }
        if let token = cookies.refresh(of: request) {
            try await useCases.sessions.revoke(token, requestID: request.id)
        }
        return withoutSession(.emptyObject, request)
    }

    /// Ends the session whose cookies are about to be overwritten, because its tokens would be lost. On failure it
    /// expires by itself.
    /// - Parameter new: Whose cookies the browser may have already, if the response to its request was lost.
    package func endFormerSession(of request: Request, besides new: SessionTokens) async {
        for token in [cookies.session(of: request), cookies.refresh(of: request)].compactMap(\.self)
        where token != new.token && token != new.refreshToken {
            try? await useCases.sessions.revoke(token, requestID: request.id)
        }
    }

    /// Another user signs in or out in this browser.
    package func forgetRegistration(of request: Request, in response: inout Response) {
        guard let field = registration?.clearedCookie(of: request, self) else { return }
        response.headers.append(field)
    }

    /// Also clears the cookies of the browser's session, and of its registration in progress.
    package func withoutSession(_ response: Response, _ request: Request) -> Response {
        var response = response
        if cookies.hasSession(request) { response.headers.append(contentsOf: cookies.clearSession) }
        forgetRegistration(of: request, in: &response)
        return response
    }

    func inCookies(_ signedIn: SignedIn, _ status: HTTPResponse.Status) -> Response {
        var response = signedIn.response(status, withTokens: false)
        response.headers.append(contentsOf: cookies.setSession(signedIn.tokens))
        return response
    }
}

extension Request {
    fileprivate var hasNoCredentials: Bool { headers.count(of: .authorization) == 0 && headers.count(of: .apiKey) == 0 }
}

extension RefreshRequest {
    /// Reads a refresh from a body's fields (RFC 6749 section 6, docs/sessions.md).
    /// - Parameter cookie: The refresh token of a page, in place of the field.
    /// - Throws: 400 that names every missing or malformed field; 400 for another grant type.
    init(_ fields: BodyFields, caller: Caller, cookie: Secret? = nil) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let grantType = reader.text("grant_type", ["grantType"], limit: 128, required: true)
        if let grantType, grantType != "refresh_token" { throw .unsupportedGrantType(correlationID) }
        let refreshToken =
            cookie
            ?? reader.visibleText("refresh_token", ["refreshToken"], limit: 512, required: true).map { Secret($0) }
        self.init(refreshToken: refreshToken ?? Secret(""), caller: caller)
        clientID = reader.visibleText("client_id", ["clientId"], limit: 255)
        self.correlationID = correlationID
        try reader.check(correlationID)
    }
}
