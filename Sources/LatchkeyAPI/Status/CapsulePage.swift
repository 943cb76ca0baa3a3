import HTTPServer
import Primitives

/// The capsule of a failure, for people: the lines that `latchkey capsule show` prints.
enum CapsulePage {
    /// - Parameter failure: The id of the failure, which the link to the JSON has.
    static func response(_ lines: [String], ofFailure failure: String) -> Response {
        let text = HTML.escaped(lines.joined(separator: "\n"))
        let link = "capsule?failure=\(HTML.escaped(failure))&amp;format=json"
        // Relative links, because a proxy or a tunnel may move the page.
        return StatusPage.response(
            """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>Latchkey · capsule</title>
            <link rel="icon" href="../favicon.svg">
            <link rel="stylesheet" href="../style.css">
            <link rel="stylesheet" href="../status.css">
            </head>
            <body>
            <header class="bar">
            <a class="brand" href="../"><span class="mark" aria-hidden="true"></span>Latchkey</a>
            <nav aria-label="Pages"><ul>
            <li><a href="../">Front page</a></li>
            <li><a href="../api.html">API</a></li>
            <li><a href="../status">Status</a></li>
            </ul></nav>
            </header>
            <main id="main">
            <h1>Capsule of a failure</h1>
            <p><a href="../status">Back to status</a> · <a href="\(link)">JSON</a></p>
            <pre class="capsule" tabindex="0" aria-label="The capsule">\(text)</pre>
            </main>
            <footer><p>What was requested, received and checked, without secrets and personal data.</p></footer>
            </body>
            </html>

            """)
    }
}
