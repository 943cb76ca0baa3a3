import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// `/sign-in` and `/sign-out`, for browsers without scripts.
extension LatchkeyAPI {
    package static let signInPagePath = "/sign-in"

    /// A file of the site. A site without a front page has the sign-in page there.
    func showFile(_ request: Request, of files: StaticFiles) async throws -> Response? {
        if let file = try await files.respond(to: request) { return file }
        guard request.path == "/" else { return nil }
        switch request.method {
        case .get, .head: return try await paged { try await $0.showSignInPage($1) }(request)
        case .options: return Response(status: .noContent, headers: [.allow: StaticFiles.methods])
        default: throw StaticFiles.methodNotAllowed
        }
    }

    /// Ends the browser's session. Only by the page's own form, so that no link elsewhere signs a user out.
    func signOutByForm(_ request: Request) async throws -> Response {
        _ = try await signOutPage(request)
        let page = "\(baseURL.path)\(Self.signInPagePath)?action=logout&status=success"
        return withoutSession(.redirect(to: page), request)
    }

    func showSignInPage(_ request: Request) async throws -> Response {
        let address = baseURL.url.map { $0 + Self.signInPagePath }
        var page = SignInPage(path: baseURL.path, hasConsole: hasConsole)
        page.outcome = SignInPage.Outcome(try request.query)
        if let token = cookies.session(of: request) {
            page.user = try await useCases.sessions.authenticate(token)?.user
        }
        page.canBeRenewed = page.user == nil && cookies.refresh(of: request) != nil
        page.ways = useCases.providers.all.flatMap { provider in
            // A page does not know the operator, and the browser may not be in the mobile network.
            let clients = (provider.server?.clients ?? [:]).values
                .filter { client in address.map(client.mayReceiveBrowsers) ?? false }
                .sorted { $0.id.text < $1.id.text }
            return clients.map { client in
                let items = [
                    (name: "client_type", value: ClientType.web.rawValue), (name: "client_id", value: client.id.text),
                    (name: "redirect_uri", value: Self.signInPagePath),
                ]
                let query = String(decoding: PercentEncoding.form(items), as: UTF8.self)
                return (
                    name: clients.count == 1 ? provider.title : "\(provider.title) (\(client.id.text))",
                    location: "\(baseURL.path)/auth/\(provider.name)/start?\(query)"
                )
            }
        }
        page.address = address
        return page.response
    }
}
