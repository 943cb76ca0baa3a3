/// The page on which a person says who their carrier is.
enum DiscoveryPage {
    /// - Parameter action: Where the choice is posted to.
    static func html(
        carriers: [CarrierSimulator.Carrier], parameters: Parameters, action: String = "/ui/discovery-ui"
    ) -> HTML {
        Page.html(
            title: "Choose your carrier",
            """
            <h1>Who is your carrier?</h1>
            <p>The app does not know yet which network your phone belongs to.</p>
            <form method="post" action="\(action)">
            \(Page.hiddenFields(parameters, except: ["mccmnc", "secondary_device"]))
            <fieldset>
            <legend>Carrier</legend>
            \(carriers.enumerated().map { choice($1, isFirst: $0 == 0) })
            </fieldset>
            <label class="choice">
            <input type="checkbox" name="secondary_device" value="true">
            <span>This is not my phone<small>Sends a login_hint_token along, as from a second device</small></span>
            </label>
            <div class="actions">
            <button class="primary" type="submit">Continue</button>
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
