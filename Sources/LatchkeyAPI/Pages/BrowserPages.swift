package import HTTPServer
package import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// Pages for a person in a browser.
package enum BrowserPages {
    private static let headers: HTTPFields = [
        .contentType: "text/html; charset=utf-8",
        .cacheControl: "no-store",
        .referrerPolicy: "no-referrer",
        .contentSecurityPolicy:
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; "
            + "frame-ancestors 'none'",
    ]

    /// Where a page's forms may go.
    package enum Forms: String {
        case none = "; form-action 'none'"
        case thisSite = "; form-action 'self'"
        case anywhere = ""
    }

    /// Shows an error if there is no frontend to redirect to.
    static func failure(_ error: APIError, requestID: String, below path: String) -> Response {
        var response = page(
            error.status, below: path, title: "This sign-in cannot continue",
            """
            <p>\(HTML.escaped(error.userMessage))</p>
            <p><small>\(HTML.escaped(error.code)): \(HTML.escaped(error.description))</small></p>
            <p><a href="\(HTML.escaped(path))/sign-in">Back to the sign-in page</a></p>
            <p><small>Reference: <code>\(HTML.escaped(error.correlationID?.text ?? requestID))</code></small></p>
            """)
        response.headers.append(contentsOf: error.headers)
        return response
    }

    /// For a path without a route or a file.
    static func nothingThere(requestID: String, below path: String) -> Response {
        page(
            .notFound, below: path, title: "There is nothing here",
            """
            <p>The address may have a typing error, or the page may be gone.</p>
            <p><a class="button" href="\(HTML.escaped(path))/">Go to the front page</a></p>
            <p><small>Reference: <code>\(HTML.escaped(requestID))</code></small></p>
            """)
    }

    package static func page(
        _ status: HTTPResponse.Status, below path: String, title: String, _ main: String, forms: Forms = .none
    ) -> Response {
        let html = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(HTML.escaped(title)) · Latchkey</title>
            <link rel="icon" href="\(HTML.escaped(path))/favicon.svg">
            <link rel="stylesheet" href="\(HTML.escaped(path))/style.css">
            </head>
            <body class="plain">
            <header class="bar">
            <a class="brand" href="\(HTML.escaped(path))/"><span class="mark" aria-hidden="true"></span>Latchkey</a>
            </header>
            <main>
            <h1>\(HTML.escaped(title))</h1>
            \(main)
            </main>
            </body>
            </html>

            """
        var headers = headers
        headers[.contentSecurityPolicy]? += forms.rawValue
        return Response(status: status, headers: headers, body: Array(html.utf8))
    }

    static func script(_ text: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/javascript; charset=utf-8", .cacheControl: "public, max-age=300"],
            body: Array(text.utf8))
    }
}

/// The page that sends a provider's form again (OAuth 2.0 Form Post Response Mode).
extension BrowserPages {
    /// Sends the items to the address that the browser is at, this time as a form of this site.
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
}

/// The page at which a sign-in in a popup ends.
extension BrowserPages {
    /// Posts the outcome to the opener, and closes the window.
    static func popup(_ end: RedirectEnd, below path: String) -> Response {
        var outcome = JSONObjectWriter()
        for item in end.items { outcome.add(named: item.name, item.value) }
        let text = String(decoding: outcome.finish(), as: UTF8.self)
        let words: String =
            switch end.result {
            case .signedIn, .handedOver: "You are signed in. You may close this window."
            case .linked: "You can now also sign in this way. You may close this window."
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
}
