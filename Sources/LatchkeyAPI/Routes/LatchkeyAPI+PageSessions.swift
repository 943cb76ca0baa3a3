import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// The session of a page of this server's own origin: in two cookies that no script reads (docs/sessions.md).
extension LatchkeyAPI {
    /// Whether a request shows a browser's session and nothing else.
    func isPage(_ request: Request) -> Bool { request.showsNothing && cookies.hasSession(request) }

    /// Lets in without an API key what asks for a session in cookies: by `client_type`, or, to have one prolonged, by
    /// showing none but that of the cookies.
    /// - Returns: Nil for any other request.
    /// - Throws: 403 if the browser does not say that a page of this very server asks: another site's page could sign
    ///   this browser in as somebody else, or spend the refresh token.
    func admitPage(_ request: Request) throws(APIError) -> Admission? {
        guard request.showsNothing, let fields = try? BodyFields(request) else { return nil }
        let isRefresh = fields["refresh_token"] == nil && fields["refreshToken"] == nil && isPage(request)
        let clientType = fields["client_type"]?.string ?? fields["clientType"]?.string
        guard clientType == ClientType.web.rawValue || isRefresh && request.path == "/auth/token" else {
            return nil
        }
        try checkSameOrigin(request)
        return Admission(ground: .cookie, clients: nil)
    }

    func checkSameOrigin(_ request: Request) throws(APIError) {
        guard SameOrigin.isSent(by: request, to: publicAddress.origin) else { throw .crossSiteRequest }
    }

    /// Gives a new session to whoever asked for it: tokens, or, to a page, cookies in their place.
    func hand(
        _ signedIn: SignedIn, _ status: HTTPResponse.Status, to admission: Admission, _ request: Request
    ) async -> Response {
        guard admission.isPage else { return signedIn.response(status) }
        await endFormerSession(of: request)
        return inCookies(signedIn, status)
    }

    /// Prolongs the session of a page.
    ///
    /// What is refused leaves the cookies as they are: another tab may have signed in meanwhile, and the cookies may be
    /// that session's by now.
    func refreshPage(_ request: Request, _ admission: Admission) async throws -> Response {
        guard let refreshToken = cookies.refresh(of: request) else { throw APIError.sessionMissing }
        let refresh = try RefreshRequest(BodyFields(request), caller: admission.caller(), cookie: refreshToken)
        return inCookies(try await useCases.refresh(refresh), .ok)
    }

    /// Ends the session of a page, whose session token may have ended long before.
    func signOutPage(_ request: Request) async throws -> Response {
        try checkSameOrigin(request)
        do throws(SignInError) {
            if let token = cookies.session(of: request) { try await useCases.sessions.signOut(token) }
        } catch {
            guard error.code == .invalidToken else { throw error }
        }
        if let token = cookies.refresh(of: request) {
            try await useCases.sessions.revoke(token, requestID: request.id)
        }
        return withoutSession(.emptyObject, request)
    }

    /// Ends the session whose cookies are about to be written over: nobody would hold its tokens any more. It ends by
    /// itself if it cannot be ended now.
    func endFormerSession(of request: Request) async {
        for token in [cookies.session(of: request), cookies.refresh(of: request)].compactMap(\.self) {
            try? await useCases.sessions.revoke(token, requestID: request.id)
        }
    }

    /// Has a browser forget its session cookies, too.
    func withoutSession(_ response: Response, _ request: Request) -> Response {
        guard cookies.hasSession(request) else { return response }
        var response = response
        response.headers.append(contentsOf: cookies.clearSession)
        return response
    }

    private func inCookies(_ signedIn: SignedIn, _ status: HTTPResponse.Status) -> Response {
        var response = signedIn.responseWithoutTokens(status)
        response.headers.append(contentsOf: cookies.setSession(signedIn.tokens))
        return response
    }
}

extension Request {
    /// Whether a request shows neither an API key nor a token of its own.
    fileprivate var showsNothing: Bool { headers.count(of: .authorization) == 0 && headers.count(of: .apiKey) == 0 }
}
