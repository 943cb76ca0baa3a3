import HTTPServer
import HTTPTypes
import SignIn

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
