import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// `/sign-in` and `/sign-out`, for browsers without scripts.
extension RedirectRoutes {
    /// A site without a front page has the sign-in page there.
    func addFrontPage(to router: inout Router) {
        guard let files = router.files else { return }
        router.files = { request in
            if let file = try await files(request) { return file }
            guard request.path == "/" else { return nil }
            switch request.method {
            case .get, .head: return try await api.paged { try await showSignInPage($1) }(request)
            case .options: return Response(status: .noContent, headers: [.allow: StaticFiles.methods])
            default: throw StaticFiles.methodNotAllowed
            }
        }
    }

    /// Ends the browser's session. Only by the page's own form, so that no link elsewhere signs a user out.
    func signOutByForm(_ request: Request) async throws -> Response {
        _ = try await api.signOutPage(request)
        let page = "\(api.baseURL.path)\(SignInPage.path)?action=logout&status=success"
        return api.withoutSession(.redirect(to: page), request)
    }

    func showSignInPage(_ request: Request) async throws -> Response {
        let address = api.baseURL.url.map { $0 + SignInPage.path }
        var page = SignInPage(path: api.baseURL.path, hasConsole: hasConsole)
        page.outcome = SignInPage.Outcome(try request.query)
        if let token = api.cookies.session(of: request) {
            page.user = try await api.useCases.sessions.authenticate(token)?.user
        }
        page.canBeRenewed = page.user == nil && api.cookies.refresh(of: request) != nil
        page.ways = api.useCases.providers.all.flatMap { provider in
            // A page does not know the operator, and the browser may not be in the mobile network.
            let clients = (provider.server?.clients ?? [:]).values
                .filter { client in address.map(client.mayReceiveBrowsers) ?? false }
                .sorted { $0.id.text < $1.id.text }
            return clients.map { client in
                let items = [
                    (name: "client_type", value: ClientType.web.rawValue), (name: "client_id", value: client.id.text),
                    (name: "redirect_uri", value: SignInPage.path),
                ]
                let query = String(decoding: PercentEncoding.form(items), as: UTF8.self)
                return (
                    name: clients.count == 1 ? provider.title : "\(provider.title) (\(client.id.text))",
                    location: "\(api.baseURL.path)/auth/\(provider.name)/start?\(query)"
                )
            }
        }
        page.address = address
        return page.response
    }
}
