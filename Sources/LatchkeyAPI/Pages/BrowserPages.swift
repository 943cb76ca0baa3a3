package import HTTPServer
package import HTTPTypes
import Primitives

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
    /// - Parameter back: Where to start again, if that is known.
    static func failure(
        _ error: APIError, requestID: String, below path: String, back: (path: String, words: String)?
    ) -> Response {
        let link = back.map { "<p><a href=\"\(HTML.escaped(path + $0.path))\">\($0.words)</a></p>\n" }
        let reference = HTML.escaped(error.correlationID?.text ?? requestID)
        var response = page(
            error.status, below: path, title: "This sign-in cannot continue",
            """
            <p>\(HTML.escaped(error.userMessage))</p>
            <p><small>\(HTML.escaped(error.code)): \(HTML.escaped(error.description))</small></p>
            \(link ?? "")<p><small>Reference: <code>\(reference)</code></small></p>
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

    /// A page of parts in HTML: `bar` follows the name of the server there, and `attributes` are the main part's.
    /// - Parameter path: The path below which a proxy serves this server; or a relative path of the front page.
    package static func page(
        _ status: HTTPResponse.Status, below path: String, title: String, _ main: String, forms: Forms = .none,
        head: String = "", beforeBar: String = "<body class=\"plain\">", bar: String = "", attributes: String = "",
        foot: String = ""
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
            \(head)</head>
            \(beforeBar)
            <header class="bar">
            <a class="brand" href="\(HTML.escaped(path))/"><span class="mark" aria-hidden="true"></span>Latchkey</a>
            \(bar)</header>
            <main\(attributes)>
            <h1>\(HTML.escaped(title))</h1>
            \(main)
            </main>
            \(foot)</body>
            </html>

            """
        var headers = headers
        headers[.contentSecurityPolicy]? += forms.rawValue
        return Response(status: status, headers: headers, body: Array(html.utf8))
    }
}
