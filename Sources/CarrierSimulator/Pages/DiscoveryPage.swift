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
            title: "Choose your carrier", of: .discovery,
            """
            <h1>Who is your carrier?</h1>
            <p>The app does not know your mobile network yet.</p>
            <form method="post" action="\(action)">
            \(Page.hiddenFields(parameters, except: ["mccmnc"]))
            <fieldset>
            <legend>Carrier</legend>
            \(carriers.enumerated().map { Page.choice("mccmnc", $1.mccmnc, isChecked: $0 == 0, $1.name, $1.mccmnc) })
            </fieldset>
            <div class="actions">
            <button class="primary" type="submit">Continue</button>
            \(codes)
            </div>
            </form>
            """)
    }
}
