/// The page where a user chooses their carrier.
enum DiscoveryPage {
    /// - Parameters:
    ///   - action: The address of the form.
    ///   - codesPath: The address that makes a code for a device without the user's SIM; nil for none.
    static func html(
        carriers: [CarrierSimulator.Carrier], parameters: Parameters, action: String, codesPath: String? = nil
    ) -> HTML {
        let codes: HTML =
            codesPath.map {
                "<button type=\"submit\" formaction=\"\($0)\" formnovalidate>My phone is elsewhere</button>"
            } ?? ""
        return Page.html(
            title: "Choose your carrier",
            """
            <h1>Who is your carrier?</h1>
            <p>The app does not know your mobile network yet.</p>
            <form method="post" action="\(action)">
            \(Page.hiddenFields(parameters, except: ["mccmnc"]))
            <fieldset>
            <legend>Carrier</legend>
            \(carriers.enumerated().map { choice($1, isFirst: $0 == 0) })
            </fieldset>
            <div class="actions">
            <button class="primary" type="submit">Continue</button>
            \(codes)
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
