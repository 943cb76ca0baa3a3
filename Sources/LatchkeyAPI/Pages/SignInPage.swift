import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel

/// `/sign-in` as it is shown.
struct SignInPage {
    /// A link that begins a sign-in.
    struct Way {
        let name: String
        let location: String
    }

    /// How a sign-in that ended here went. Nothing of the address is shown but the error's code: anybody can make up the
    /// rest.
    enum Outcome {
        case signedIn, signedOut, mustRegister
        case failed(code: String)

        init?(_ query: Query) {
            switch query["status"] {
            case "success": self = query["action"] == "logout" ? .signedOut : .signedIn
            case "partial": self = .mustRegister
            case "failure":
                let code = query["error"] ?? ""
                let isCode =
                    (1...48).contains(code.utf8.count)
                    && code.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }
                self = .failed(code: isCode ? code : "unknown_error")
            default: return nil
            }
        }
    }

    /// Below which a proxy has this server.
    let path: String
    var outcome: Outcome?
    var user: User?
    /// Whether the browser has what a session is prolonged with.
    var canBeProlonged = false
    var ways: [Way] = []
    /// Of this page.
    var address = ""

    var response: Response {
        var response = BrowserPages.page(
            .ok, below: path, title: title, [news, state, links].filter { !$0.isEmpty }.joined(separator: "\n"),
            sendsForms: user != nil)
        // Without it older browsers leave a form's origin out, and the form is refused.
        response.headers[.referrerPolicy] = "same-origin"
        return response
    }

    private var title: String { user == nil ? "Sign in" : "You are signed in" }

    /// What just happened. The session counts, not what the address says.
    private var news: String {
        switch outcome {
        case .signedIn where user == nil:
            Self.notice(
                "problem",
                "The sign-in went through, and this browser has not kept its cookie. Allow cookies for this "
                    + "site, and sign in again.")
        case .mustRegister where user == nil:
            Self.notice(
                "note",
                "The provider knows you, and nobody is registered here under this identity yet. Registering "
                    + "takes a form that needs JavaScript: <a href=\"\(HTML.escaped(path))/\">go on there</a>, with "
                    + "JavaScript on.")
        case .failed(let code):
            Self.notice("problem", "\(UserMessage.text(code, .unknownError)) <small>(<code>\(code)</code>)</small>")
        case .signedOut where user == nil: Self.notice("note", "You are signed out.")
        case .signedIn, .signedOut, .mustRegister, nil: ""
        }
    }

    private var state: String {
        if let user {
            let name = user.profile[.name] ?? user.profile[.username]
            return """
                <p>\(name.map { "Welcome, <strong>\(HTML.escaped($0))</strong>." } ?? "Welcome.") You are user \
                \(user.id.number) here. The session is in a cookie that no script reads.</p>
                <form class="ways" method="post" action="\(HTML.escaped(path))/sign-out">
                <a class="button" href="\(HTML.escaped(path))/">See your account</a>
                <button type="submit">Sign out</button>
                </form>
                """
        }
        guard canBeProlonged else { return "" }
        return """
            <p>This browser has a session that has to be prolonged, which takes JavaScript: \
            <a href="\(HTML.escaped(path))/">go on there</a>, or sign in anew.</p>
            """
    }

    private var links: String {
        guard user == nil else { return "" }
        guard !ways.isEmpty else {
            return Self.notice(
                "note",
                "No client may end a sign-in here. The operator has to add "
                    + "<code>\(HTML.escaped(address))</code> to the <code>redirect_uris</code> of one.")
        }
        let items = ways.map { way in
            "<li><a class=\"button\" href=\"\(HTML.escaped(way.location))\">Sign in with \(HTML.escaped(way.name))</a></li>"
        }
        return "<ul class=\"ways\">\n\(items.joined(separator: "\n"))\n</ul>"
    }

    private static func notice(_ kind: String, _ html: String) -> String { "<p class=\"\(kind)\">\(html)</p>" }
}
