/// The page on which a person says who their carrier is.
enum DiscoveryPage {
    /// - Parameters:
    ///   - action: Where the choice is posted to.
    ///   - codesPath: Where a device without the user's SIM gets a code for the phone; nil where it cannot.
    static func html(
        carriers: [CarrierSimulator.Carrier], parameters: Parameters, action: String, codesPath: String? = nil
    ) -> HTML {
        Page.html(
            title: "Choose your carrier",
            """
            <h1>Who is your carrier?</h1>
            <p>The app does not know yet which network your phone belongs to.</p>
            <form method="post" action="\(action)">
            \(Page.hiddenFields(parameters, except: ["mccmnc"]))
            <fieldset>
            <legend>Carrier</legend>
            \(carriers.enumerated().map { choice($1, isFirst: $0 == 0) })
            </fieldset>
            <div class="actions">
            <button class="primary" type="submit">Continue</button>
            \(codesPath.map { "<button type=\"submit\" formaction=\"\($0)\" formnovalidate>My phone is elsewhere</button>" as HTML } ?? "")
            </div>
            </form>
            """)
    }

    private static func choice(_ carrier: CarrierSimulator.Carrier, isFirst: Bool) -> HTML {
        """
        <label class="choice">
        <input type="radio" name="mccmnc" value="\(carrier.mccmnc)"\(isFirst ? " checked" as HTML : "") required>
        <span>\(carrier.name)<small>\(carrier.mccmnc)</small></span>
        </label>

        """
    }
}
