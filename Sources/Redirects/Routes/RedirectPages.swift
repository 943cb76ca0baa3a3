import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The page `/sign-in`, which is also the front page of a site without one.
struct SignInPage {
    /// The outcome of a sign-in that ended here. Of the URL only the error's code is shown, and a reference of the form
    /// that this server gives, because anyone can forge the rest.
    enum Outcome {
        case signedIn, signedOut
        case failed(code: String, reference: String?)

        init?(_ query: Query) {
            switch query["status"] {
            case "success": self = query["action"] == "logout" ? .signedOut : .signedIn
            case "failure":
                let code = query["error"] ?? ""
                let isCode =
                    (1...48).contains(code.utf8.count)
                    && code.utf8.allSatisfy { $0.isASCIILetterOrDigit && $0 == $0.lowercasedASCII || $0 == 95 }
                self = .failed(
                    code: isCode ? code : "unknown_error", reference: Self.reference(query["correlation_id"]))
            default: return nil
            }
        }

        /// 128 bits in base64url, as in ``CorrelationID/random(from:)``; nil for another form.
        private static func reference(_ text: String?) -> String? {
            guard let text, text.utf8.count == 22, Base64URL.decode(text.utf8)?.count == 16 else { return nil }
            return text
        }
    }

    static let path = "/sign-in"
    /// The parameter with the URL where the browser goes on, as other servers for forward authentication name it.
    static let returnParameter = "rd"

    /// The path below which a proxy serves this server.
    let path: String
    /// Whether the front page is the developer console, which needs JavaScript.
    let hasConsole: Bool
    var outcome: Outcome?
    var user: User?
    var canBeRenewed = false
    var ways: [(name: String, color: String?, location: String)] = []
    /// The URL of this page; nil if the server does not know it.
    var address: String?
    /// Where a browser that is signed in already can go on.
    var destination: String?

    var response: Response {
        var response = BrowserPages.page(
            .ok, below: path, title: title, [news, state, links].filter { !$0.isEmpty }.joined(separator: "\n"),
            forms: canBeRenewed ? .anywhere : user == nil ? .none : .thisSite)
        // Without it older browsers omit a form's origin, and the form is refused.
        response.headers[.referrerPolicy] = "same-origin"
        return response
    }

    private var title: String { user == nil ? "Sign in" : "You are signed in" }

    /// The outcome. The session counts, not the URL.
    private var news: String {
        switch outcome {
        case .signedIn where user == nil:
            Self.notice(
                "problem",
                "You were signed in, but this browser has not stored the cookie. Allow cookies for this site, and "
                    + "sign in again.")
        case .failed(let code, let reference):
            Self.notice("problem", "\(UserMessage.text(code, .unknownError)) <small>(<code>\(code)</code>)</small>")
                + (reference.map { "\n<p><small>Reference: <code>\($0)</code></small></p>" } ?? "")
        case .signedOut where user == nil: Self.notice("note", "You are signed out.")
        case .signedIn, .signedOut, nil: ""
        }
    }

    private var state: String {
        if let user {
            let name = user.profile[.name] ?? user.profile[.username]
            let account =
                hasConsole ? "<a class=\"button\" href=\"\(HTML.escaped(path))/\">See your account</a>\n" : ""
            let onward =
                destination.map(HTML.escaped)
                .map { "<a class=\"button\" href=\"\($0)\">Continue to \($0)</a>\n" } ?? ""
            return """
                <p>\(name.map { "Welcome, <strong>\(HTML.escaped($0))</strong>." } ?? "Welcome.") You are user \
                \(user.id.number) here. The session is in a cookie that scripts cannot read.</p>
                <form class="ways" method="post" action="\(HTML.escaped(path))/sign-out">
                \(onward)\(account)<button type="submit">Sign out</button>
                </form>
                """
        }
        guard canBeRenewed else { return "" }
        // The script sends the form at once, for a browser that comes from an application. A refusal ends elsewhere.
        let script = destination == nil ? "" : "\n<script src=\"\(HTML.escaped(path))/auth/form-post.js\"></script>"
        return """
            <form class="ways" method="post" action="\(HTML.escaped(path + Self.path))">
            <p>This browser has a session that must be renewed.</p>
            <button type="submit">Continue with it</button>
            </form>\(script)
            <p>Or sign in again:</p>
            """
    }

    private var links: String {
        guard user == nil else { return "" }
        guard !ways.isEmpty else {
            let remedy =
                address.map { "add <code>\(HTML.escaped($0))</code> to the <code>redirect_uris</code> of a client" }
                ?? "set <code>public_url</code>"
            return Self.notice("note", "There is no sign-in on this page. Sign in with the app or site that you use.")
                + "\n<p><small>To the administrator: to offer sign-ins here, \(remedy).</small></p>"
        }
        let items = ways.map { way in
            // The page's policy allows no style of its own; this attribute is none.
            let mark = way.color.map { color in
                "<svg width=\"12\" height=\"12\" aria-hidden=\"true\">"
                    + "<circle cx=\"6\" cy=\"6\" r=\"6\" fill=\"\(HTML.escaped(color))\"/></svg> "
            }
            return "<li><a class=\"button\" href=\"\(HTML.escaped(way.location))\">\(mark ?? "")"
                + "Sign in with \(HTML.escaped(way.name))</a></li>"
        }
        return "<ul class=\"ways\">\n\(items.joined(separator: "\n"))\n</ul>"
    }

    private static func notice(_ kind: String, _ html: String) -> String { "<p class=\"\(kind)\">\(html)</p>" }
}

/// `/sign-in` and `/sign-out`, for browsers without scripts.
extension RedirectSignIn {
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

    /// Renews the browser's session, and goes on as after a sign-in. Only by the page's own form, because a refresh
    /// spends the refresh token. A refusal leaves the cookies as they are: another tab may have begun a session.
    func renewByForm(_ request: Request) async throws -> Response {
        try api.checkSameOrigin(request)
        try api.countSignIn(of: request)
        let page = api.baseURL.path + SignInPage.path
        guard let token = api.cookies.refresh(of: request) else { return .redirect(to: page) }
        do throws(SignInError) {
            let request = RefreshRequest(refreshToken: token, caller: Caller(origin: ""))
            let renewed = try await api.useCases.refresh(request)
            var response = Response.redirect(to: page + "?action=login&status=success")
            response.headers.append(contentsOf: api.cookies.setSession(renewed.tokens))
            return response
        } catch {
            guard error.code == .invalidGrant else { throw error }
            return .redirect(to: page + "?action=login&status=failure&error=\(error.codeText)")
        }
    }

    func showSignInPage(_ request: Request) async throws -> Response {
        let address = api.baseURL.url.map { $0 + SignInPage.path }
        var page = SignInPage(path: api.baseURL.path, hasConsole: feature.hasConsole)
        let query = try request.repairedQuery
        page.outcome = SignInPage.Outcome(query)
        if let token = api.cookies.session(of: request) {
            page.user = try await api.useCases.sessions.authenticate(token)?.user
        }
        let kept = api.cookies.destination(of: request)
        if page.user != nil, case .signedIn? = page.outcome, let kept, mayReturn(to: kept) {
            var response = Response.redirect(to: kept)
            response.headers.append(api.cookies.setDestination(nil, seconds: 0))
            return response
        }
        let named = query[SignInPage.returnParameter].flatMap { mayReturn(to: $0) ? $0 : nil }
        page.destination = named
        page.canBeRenewed = page.user == nil && api.cookies.refresh(of: request) != nil
        page.ways = api.useCases.providers.all.flatMap { provider in
            // A page does not know the operator, and the browser may not be in the mobile network.
            let clients = (provider.server?.clients ?? [:]).values
                .filter { client in address.map(client.mayReceiveBrowsers) ?? false }
                .sorted { $0.id.text < $1.id.text }
            return clients.map { client in
                (
                    name: clients.count == 1 ? provider.title : "\(provider.title) (\(client.id.text))",
                    color: provider.color,
                    location: api.baseURL.path + Self.start(at: provider.name, for: client, to: SignInPage.path)
                )
            }
        }
        page.address = address
        var response = page.response
        // Kept while the browser is at the provider. A user who comes to the page for another reason has given it up.
        if let named, page.user == nil {
            response.headers.append(api.cookies.setDestination(named, seconds: feature.lifetime))
        } else if kept != nil, page.outcome == nil {
            response.headers.append(api.cookies.setDestination(nil, seconds: 0))
        }
        return response
    }

    /// Whether the sign-in page may send a browser to a URL: one of this server's origin, or of `allowed_origins`.
    /// Compared as a whole, so that no spelling that browsers read otherwise passes for an allowed origin.
    func mayReturn(to url: String) -> Bool {
        guard url.isVisibleASCII(upTo: 2048), let origin = AppRedirectURI.origin(of: url) else { return false }
        return origin == api.baseURL.origin || feature.allowedOrigins.contains(origin)
    }
}

extension BrowserCookies {
    private var destinationName: String { prefix + "latchkey_destination" }

    /// Where the browser goes on after it has signed in; not checked.
    fileprivate func destination(of request: Request) -> String? {
        text(destinationName, of: request).flatMap { Base64URL.decode($0.utf8) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    fileprivate func setDestination(_ url: String?, seconds: Int64) -> HTTPField {
        field(destinationName, url.map { Base64URL.encode(Array($0.utf8)) } ?? "", maximumAge: seconds)
    }
}

extension BrowserPages {
    /// The page that sends a provider's form again (OAuth 2.0 Form Post Response Mode), to the address that the browser
    /// is at, this time as a form of this site.
    ///
    /// The page says nothing of where its form may go: Chromium applies that also to the redirect to the frontend,
    /// which is the answer.
    static func formToSendAgain(_ items: [(name: String, value: String)], to action: String, below path: String)
        -> Response
    {
        let fields = (items + [(AuthorizationResponse.sentAgain, "true")]).map { item in
            "<input type=\"hidden\" name=\"\(HTML.escaped(item.name))\" value=\"\(HTML.escaped(item.value))\">"
        }
        return page(
            .ok, below: path, title: "Signing you in",
            """
            <p>If nothing happens, press Continue.</p>
            <form method="post" action="\(HTML.escaped(action))">
            \(fields.joined(separator: "\n"))
            <button type="submit">Continue</button>
            </form>
            <script src="\(HTML.escaped(path))/auth/form-post.js"></script>
            """, forms: .anywhere)
    }

    /// The page's script. Without it, the person presses the button.
    static let formPostScript = script(
        """
        document.querySelector("form").submit();

        """)

    /// The page at which a sign-in in a popup ends: posts the outcome to the opener, and closes the window.
    static func popup(_ end: RedirectEnd, below path: String) -> Response {
        var outcome = JSONObjectWriter()
        for item in end.items { outcome.add(named: item.name, item.value) }
        let text = String(decoding: outcome.finish(), as: UTF8.self)
        let words: String =
            switch end.result {
            case .signedIn, .handedOver: "You are signed in. You may close this window."
            case .errandDone(let text): text
            case .taskEnded: "Continue in the app. You may close this window."
            case .mustRegister: "Continue in the window that you came from. You may close this one."
            case .failed(let error): APIError(error).userMessage
            }
        return page(
            .ok, below: path, title: "Sign-in",
            """
            <p id="outcome" data-origin="\(HTML.escaped(end.origin ?? ""))" data-outcome="\(HTML.escaped(text))">\
            \(HTML.escaped(words))</p>
            <script src="\(HTML.escaped(path))/auth/popup.js"></script>
            """)
    }

    /// The popup's script. The outcome goes to the registered origin only.
    static let popupScript = script(
        """
        const { origin, outcome } = document.getElementById("outcome").dataset;
        if (window.opener && origin) {
          window.opener.postMessage({ source: "latchkey", ...JSON.parse(outcome) }, origin);
          window.close();
        }

        """)

    private static func script(_ text: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/javascript; charset=utf-8", .cacheControl: "public, max-age=300"],
            body: Array(text.utf8))
    }
}
