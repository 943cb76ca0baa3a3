import Primitives

/// Whose page it is, which a band above each page shows: to leave the app's site must be visible.
struct Brand {
    let name: String
    /// What kind of place it is, below the name.
    let kind: String
    /// Its colour: a class of the style sheet.
    let tone: String

    /// The simulator's own pages, which are of no carrier.
    static let simulator = Brand(name: "Carrier simulator", kind: "For development", tone: "tone")
    /// The discovery service that the carriers share.
    static let discovery = Brand(name: "Carrier discovery", kind: "A simulated service of all carriers", tone: "tone")
    /// The carrier's app on the phone of the user.
    static let phone = Brand(name: "Your phone", kind: "A simulated carrier's app", tone: "tone")

    /// A carrier's or provider's. Each keeps its colour.
    static func of(_ carrier: CarrierSimulator.Carrier) -> Brand {
        let place = carrier.name.utf8.reduce(0) { ($0 * 31 + Int($1)) % 5 }
        let kind = carrier.isCarrier ? "A simulated carrier, \(carrier.mccmnc)" : "A simulated provider"
        return Brand(name: carrier.name, kind: kind, tone: "tone-\(place)")
    }
}

enum Page {
    static func html(title: String, of brand: Brand, _ content: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(title)</title>
        <link rel="stylesheet" href="/style.css">
        </head>
        <body class="\(brand.tone)">
        <header><p><strong>\(brand.name)</strong> <span>\(brand.kind)</span></p></header>
        <main>
        \(content)
        </main>
        <footer>Simulated, for development. No person here is real.</footer>
        </body>
        </html>

        """
    }

    static func hiddenFields(_ parameters: Parameters, except names: Set<String> = []) -> [HTML] {
        parameters.items.filter { !names.contains($0.name) }.map { item in
            "<input type=\"hidden\" name=\"\(item.name)\" value=\"\(item.value)\">\n"
        }
    }

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
    static func html(_ refusal: OAuthError) -> HTML {
        Page.html(
            title: "This request failed", of: .simulator,
            """
            <h1>This request failed</h1>
            <p>\(refusal.reason)</p>
            <p class="note">The request of the app that sent you here is invalid. Go back to the app and try again.
            Error code for its developers: <code>\(refusal.code)</code>.</p>
            """)
    }
}

/// Markup. Interpolated text is escaped; interpolated markup is not.
///
/// ```swift
/// let greeting: HTML = "<p>Hello, \(name)</p>"
/// ```
struct HTML: Sendable {
    private(set) var source: String
}

extension HTML: ExpressibleByStringInterpolation {
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var source = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            source.reserveCapacity(literalCapacity + interpolationCount * 16)
        }

        mutating func appendLiteral(_ literal: String) { source += literal }
        mutating func appendInterpolation(_ text: String) { source += Primitives.HTML.escaped(text) }
        mutating func appendInterpolation(_ html: HTML) { source += html.source }
        mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { source += part.source } }
    }

    init(stringLiteral source: String) { self.source = source }
    init(stringInterpolation: StringInterpolation) { source = stringInterpolation.source }
}

/// The page whose form takes the authorization response to the relying party (OAuth 2.0 Form Post Response Mode). A
/// real provider's script sends it at once; here a person does.
enum FormPostPage {
    static func html(_ response: Parameters, to redirectURI: String, site: CarrierSite) -> HTML {
        Page.html(
            title: "Sign in with \(site.carrier.name)", of: .of(site.carrier),
            """
            <h1>Back to the app</h1>
            <form method="post" action="\(redirectURI)">
            \(Page.hiddenFields(response))
            <div class="actions">
            <button class="primary" type="submit">Continue</button>
            </div>
            </form>
            """)
    }
}
