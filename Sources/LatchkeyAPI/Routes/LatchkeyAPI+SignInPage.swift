import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// `/sign-in` and `/sign-out`, for browsers without scripts.
extension LatchkeyAPI {
    private static let pagePath = "/sign-in"

    /// Ends the browser's session. Only by the page's own form, so that no link elsewhere signs a user out.
    func signOutByForm(_ request: Request) async throws -> Response {
        _ = try await signOutPage(request)
        let page = "\(baseURL.path)\(Self.pagePath)?action=logout&status=success"
        return withoutSession(.redirect(to: page), request)
    }

    func showSignInPage(_ request: Request) async throws -> Response {
        let base = try publicURL()
        var page = SignInPage(path: baseURL.path)
        page.outcome = SignInPage.Outcome(try request.query)
        if let token = cookies.session(of: request) {
            page.user = try await useCases.sessions.authenticate(token)?.user
        }
        page.canBeRenewed = page.user == nil && cookies.refresh(of: request) != nil
        page.ways = useCases.redirectSignIn.providers.flatMap { id, provider in
            // A page does not know the operator, and the browser may not be in the mobile network.
            let clients =
                provider.kind == .camara
                ? []
                : provider.clients.values.filter { $0.mayReceiveBrowsers(at: base + Self.pagePath) }
                    .sorted { $0.id.text < $1.id.text }
            return clients.map { client in
                let items = [
                    (name: "client_type", value: ClientType.web.rawValue), (name: "client_id", value: client.id.text),
                    (name: "redirect_uri", value: Self.pagePath),
                ]
                let query = String(decoding: PercentEncoding.form(items), as: UTF8.self)
                return SignInPage.Way(
                    name: clients.count == 1 ? provider.name : "\(provider.name) (\(client.id.text))",
                    location: "\(baseURL.path)/auth/\(id)/start?\(query)")
            }
        }
        page.address = base + Self.pagePath
        return page.response
    }
}
