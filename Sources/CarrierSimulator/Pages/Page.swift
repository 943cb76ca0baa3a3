/// The layout of every page.
enum Page {
    /// - Parameter seconds: How often the browser reloads the page; nil for never.
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
        <footer>A simulated carrier, for development. No person here is real.</footer>
        </body>
        </html>

        """
    }

    /// Hidden fields of a form.
    static func hiddenFields(_ parameters: Parameters, except names: Set<String> = []) -> [HTML] {
        parameters.items.filter { !names.contains($0.name) }.map { item in
            "<input type=\"hidden\" name=\"\(item.name)\" value=\"\(item.value)\">\n"
        }
    }

    /// A radio button of a form.
    static func choice(_ name: String, _ value: String, isChecked: Bool, _ title: String, _ detail: String) -> HTML {
        """
        <label class="choice">
        <input type="radio" name="\(name)" value="\(value)"\(isChecked ? " checked" as HTML : "") required>
        <span>\(title)<small>\(detail)</small></span>
        </label>

        """
    }
}

/// The page of an error that no redirect can carry to the relying party.
enum RefusalPage {
    static func html(_ refusal: CarrierSimulator.Refusal) -> HTML {
        Page.html(
            title: "This request failed",
            """
            <h1>This request failed</h1>
            <p>\(refusal.reason)</p>
            <p class="note">The request of the app that sent you here is invalid. Go back to the app and try again.
            Error code for its developers: <code>\(refusal.code)</code>.</p>
            """)
    }
}
