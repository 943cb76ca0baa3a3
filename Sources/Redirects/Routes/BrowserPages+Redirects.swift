import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives

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
