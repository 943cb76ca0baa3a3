import HTTPServer
import HTTPTypes

/// Pages for a person in a browser: they say what happened, in words.
enum BrowserPages {
    private static let headers: HTTPFields = [
        .contentType: "text/html; charset=utf-8",
        .cacheControl: "no-store",
        .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer",
        .contentSecurityPolicy:
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
            + "frame-ancestors 'none'",
    ]

    /// Says why a sign-in cannot go on, where there is no frontend to say so.
    static func failure(_ error: APIError, below path: String) -> Response {
        var response = page(
            error.status, below: path, title: "This sign-in cannot go on",
            """
            <p>\(HTML.escaped(error.userMessage))</p>
            <p><small>\(HTML.escaped(error.code)): \(HTML.escaped(error.description))</small></p>
            <p><a href="\(HTML.escaped(path))/sign-in">Back to the ways to sign in</a></p>
            """)
        response.headers.append(contentsOf: error.headers)
        return response
    }

    /// For who comes back from a provider's logout without our state.
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
