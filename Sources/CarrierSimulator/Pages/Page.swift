/// The frame around every page.
enum Page {
    /// - Parameter refreshedEvery: After how many seconds the browser asks for the page again; nil for never.
    static func html(title: String, refreshedEvery seconds: Int? = nil, _ content: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(title)</title>
        \(seconds.map { "<meta http-equiv=\"refresh\" content=\"\(String($0))\">" as HTML } ?? "")
        <link rel="stylesheet" href="/style.css">
        </head>
        <body>
        <main>
        \(content)
        </main>
        <footer>A simulated carrier, for development. Nobody here is real.</footer>
        </body>
        </html>

        """
    }

    /// Values that a form sends along unseen.
    static func hiddenFields(_ parameters: Parameters, except names: Set<String> = []) -> [HTML] {
        parameters.items.filter { !names.contains($0.name) }.map { item in
            "<input type=\"hidden\" name=\"\(item.name)\" value=\"\(item.value)\">\n"
        }
    }
}

/// What a person sees where there is nobody to redirect to.
enum RefusalPage {
    static func html(_ refusal: CarrierSimulator.Refusal) -> HTML {
        Page.html(
            title: "This cannot be answered",
            """
            <h1>This cannot be answered</h1>
            <p>\(refusal.reason)</p>
            <p class="note">The app that sent you here made a mistake. Go back to it and try again.
            Its makers may want to know: <code>\(refusal.code)</code>.</p>
            """)
    }
}
