import HTTPServer
import Primitives

/// The capsule of a failure, for people: the lines that `latchkey capsule show` prints.
enum CapsulePage {
    /// - Parameter failure: The id of the failure, which the link to the JSON has.
    static func response(_ lines: [String], ofFailure failure: String) -> Response {
        let text = HTML.escaped(lines.joined(separator: "\n"))
        let link = "capsule?failure=\(HTML.escaped(failure))&amp;format=json"
        let page = OperatorPage(
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
