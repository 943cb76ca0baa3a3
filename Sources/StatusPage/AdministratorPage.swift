import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives

/// What the pages for administrators have in common: head, bar and foot. They load scripts and styles of this server
/// alone.
struct AdministratorPage {
    let title: String
    /// The relative path of the front page, such as `../`: a proxy or a tunnel may move the pages.
    let root: String
    /// Whether this is the page that the bar names "Status".
    var isStatus = false
    /// Further elements of the head, as HTML.
    var head = ""
    /// The text of the link to the main part, for keyboards.
    let skip: String
    /// Attributes of the main part, as HTML.
    var attributes = ""
    /// The main part, as HTML.
    let main: String
    /// The foot, as HTML.
    let foot: String

    var response: Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                .referrerPolicy: "no-referrer",
                .contentSecurityPolicy:
                    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ], body: Array(html.utf8))
    }

    private var html: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Latchkey · \(title)</title>
        <link rel="icon" href="\(root)favicon.svg">
        <link rel="stylesheet" href="\(root)style.css">
        <link rel="stylesheet" href="\(root)status.css">
        \(head)
        </head>
        <body>
        <a class="skip" href="#main">\(skip)</a>
        <header class="bar">
        <a class="brand" href="\(root)"><span class="mark" aria-hidden="true"></span>Latchkey</a>
        <nav aria-label="Pages"><ul>
        <li><a href="\(root)">Front page</a></li>
        <li><a href="\(root)api.html">API</a></li>
        <li><a href="\(root)status"\(isStatus ? " aria-current=\"page\"" : "")>Status</a></li>
        </ul></nav>
        </header>
        <main id="main"\(attributes)>
        \(main)
        </main>
        <footer><p>\(foot)</p></footer>
        </body>
        </html>

        """
    }
}

/// The capsule of a failure, for people: the lines that `latchkey capsule show` prints.
enum CapsulePage {
    /// - Parameter failure: The id of the failure, which the link to the JSON has.
    static func response(_ lines: [String], ofFailure failure: String) -> Response {
        let text = HTML.escaped(lines.joined(separator: "\n"))
        let link = "capsule?failure=\(HTML.escaped(failure))&amp;format=json"
        let page = AdministratorPage(
            title: "capsule", root: "../", skip: "Skip to the capsule",
            main: """
                <h1>Capsule of a failure</h1>
                <p><a href="../status">Back to status</a> · <a href="\(link)">JSON</a></p>
                <pre class="capsule" tabindex="0" aria-label="The capsule">\(text)</pre>
                """,
            foot: "What was requested, received and checked, without secrets and personal data.")
        return page.response
    }
}
