import HTTPServer

/// The page where a user chooses their carrier, and what follows the choice: `/ui/discovery-ui` returns to the relying
/// party; `/v1/auth`, ZenKey's optimized discovery, goes on to the carrier.
struct DiscoveryUIEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `GET /ui/discovery-ui?client_id&redirect_uri&state`.
    func show(_ request: Request) throws(OAuthError) -> Response {
        try page(for: request, .discoveryUI, action: "/ui/discovery-ui", codesPath: PhoneCodeEndpoint.path)
    }

    /// `GET /v1/auth` with an authorization request. The live service finds the carrier by the browser's network; the
    /// simulator asks the user.
    func showOptimized(_ request: Request) throws(OAuthError) -> Response {
        try page(for: request, .optimizedDiscovery, action: "/v1/auth")
    }

    /// `POST /ui/discovery-ui`: returns to the relying party with `mccmnc` and `state`. The device has the user's SIM.
    func choose(_ request: Request) throws(OAuthError) -> Response {
        let (parameters, redirectURI, site) = try choice(request)
        return .redirect(to: redirectURI.adding([("mccmnc", site.mccmnc), ("state", parameters["state"])]))
    }

    /// `POST /v1/auth`: goes to the carrier's authorization endpoint with the whole request.
    func chooseOptimized(_ request: Request) throws(OAuthError) -> Response {
        let (parameters, _, site) = try choice(request)
        let items = parameters.items.filter { $0.name != "mccmnc" }.map { (name: $0.name, value: $0.value as String?) }
        return .redirect(to: site.authorizationEndpoint.adding(items))
    }

    private func page(
        for request: Request, _ endpoint: CarrierSimulator.RequestLog.Endpoint, action: String, codesPath: String? = nil
    ) throws(OAuthError) -> Response {
        simulator.note(endpoint, request, mccmnc: nil)
        let parameters = Parameters(queryOf: request)
        _ = try CarrierSimulator.Client.registered(parameters, in: simulator.clients)
        return .page(
            DiscoveryPage.html(
                carriers: simulator.carriers, parameters: parameters, action: action, codesPath: codesPath))
    }

    private func choice(_ request: Request) throws(OAuthError) -> (Parameters, redirectURI: String, CarrierSite) {
        let parameters = try Parameters(contentOf: request)
        let redirectURI = try CarrierSimulator.Client.registered(parameters, in: simulator.clients).redirectURI
        guard let site = parameters["mccmnc"].flatMap({ simulator.carrierSite($0) })
        else { throw OAuthError.invalidRequest("Choose one of the carriers.") }
        return (parameters, redirectURI, site)
    }
}

enum DiscoveryPage {
    /// - Parameter codesPath: The address that makes a code for a device without the user's SIM; nil for none.
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
