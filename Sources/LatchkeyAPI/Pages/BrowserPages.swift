import HTTPServer
import HTTPTypes

/// Pages for a person in a browser.
enum BrowserPages {
    private static let headers: HTTPFields = [
        .contentType: "text/html; charset=utf-8",
        .cacheControl: "no-store",
        .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer",
        .contentSecurityPolicy:
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; "
            + "form-action 'none'; frame-ancestors 'none'",
    ]

    /// Shows an error if there is no frontend to redirect to.
    static func failure(_ error: APIError, below path: String) -> Response {
        var response = page(
            error.status, below: path, title: "This sign-in cannot continue",
            """
            <p>\(HTML.escaped(error.userMessage))</p>
            <p><small>\(HTML.escaped(error.code)): \(HTML.escaped(error.description))</small></p>
            <p><a href="\(HTML.escaped(path))/sign-in">Back to the sign-in page</a></p>
            """)
        response.headers.append(contentsOf: error.headers)
        return response
    }

    /// For a return from a provider's logout with an unknown `state`.
    static func signedOut(below path: String) -> Response {
        page(.ok, below: path, title: "You are signed out", "<p>You may close this window.</p>")
    }

    static func page(
        _ status: HTTPResponse.Status, below path: String, title: String, _ main: String, sendsForms: Bool = false
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
        if sendsForms { headers[.contentSecurityPolicy]?.replace("form-action 'none'", with: "form-action 'self'") }
        return Response(status: status, headers: headers, body: Array(html.utf8))
    }
}
