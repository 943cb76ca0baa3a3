import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// Logout together with the provider (docs/logout.md).
extension LatchkeyAPI {
    func addLogoutRoutes(to router: inout Router) {
        router.post("/auth/{provider}/backchannel-logout") { try await self.receiveLogout($0) }
        let signOut = signedIn { try await $0.signOutAtProvider($1) }
        router.post("/auth/{provider}/logout") { try await signOut($0) }
        router.get("/auth/{provider}/logged-out") { try await self.returnFromLogout($0) }
    }

    /// A provider has no API key: its token says who it is. A form and nothing else (Back-Channel Logout section 2.5).
    private func receiveLogout(_ request: Request) async throws -> Response {
        guard case .form(let form) = try BodyFields(request) else {
            throw APIError.malformed("The body is not a form. Send application/x-www-form-urlencoded.")
        }
        var reader = FieldReader(.form(form))
        guard let token = reader.visibleText("logout_token", limit: 16_384, required: true) else {
            throw APIError.malformed(reader.problems.joined(separator: "; ") + ".")
        }
        try await useCases.backChannelLogout(
            provider: request.provider, logoutToken: Secret(token), requestID: request.id)
        return .emptyObject
    }

    /// By `POST`, and with a cookie only from this server's own pages: no picture or link elsewhere signs anybody out.
    private func signOutAtProvider(_ request: Request) async throws -> Response {
        let token = try sessionToken(of: request)
        let holder = try await holder(of: request)
        let base = try publicURL()
        var reader = FieldReader(try BodyFields(request))
        guard
            let redirectURI = reader.visibleText(
                "post_logout_redirect_uri", ["redirect_uri"], limit: 2048, required: true)
        else { throw APIError.malformed(reader.problems.joined(separator: "; ") + ".") }
        let location = try await useCases.providerSignOut(
            at: request.provider, token: token, holder: holder,
            redirectURI: redirectURI.hasPrefix("/") ? base + redirectURI : redirectURI,
            returnURL: "\(base)/auth/\(request.provider)/logged-out")
        guard request.prefersJSON else { return withoutSession(.redirect(to: location), request) }
        var json = JSONObjectWriter(capacity: 512)
        json.add("location", location)
        return withoutSession(.json(.ok, json.finish()), request)
    }

    private func returnFromLogout(_ request: Request) async throws -> Response {
        // A look at the place, as link checkers take one, must not spend the state.
        guard request.method == .get else { return Response(status: .ok, headers: [.cacheControl: "no-store"]) }
        let state = request.query["state"].flatMap { $0.utf8.count <= 256 ? Secret($0) : nil }
        guard let location = try await useCases.providerSignOut.finish(at: request.provider, state: state) else {
            return BrowserPages.signedOut(below: publicAddress.path)
        }
        return .redirect(to: location)
    }
}
