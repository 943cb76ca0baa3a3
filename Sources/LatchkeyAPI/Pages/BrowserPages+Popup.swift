import HTTPServer
import HTTPTypes
import Primitives
import SignIn

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
            case .broughtNumber: "Continue in the app. You may close this window."
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
