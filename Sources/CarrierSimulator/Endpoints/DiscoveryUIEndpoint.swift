import HTTPServer
import HTTPTypes

/// The page on which a person says who their carrier is: `/ui/discovery-ui?client_id&redirect_uri&state`.
struct DiscoveryUIEndpoint: Sendable {
    let simulator: CarrierSimulator

    func show(_ request: Request) -> Response {
        simulator.note(.discoveryUI, request, mccmnc: nil)
        let parameters = Parameters(queryOf: request)
        do throws(CarrierSimulator.Refusal) {
            try check(parameters)
        } catch {
            return .page(RefusalPage.html(error), status: .badRequest)
        }
        return .page(
            DiscoveryPage.html(
                carriers: simulator.carriers, parameters: parameters, action: "/ui/discovery-ui",
                codesPath: PhoneCodeEndpoint.path))
    }

    /// Goes back to the relying party with `mccmnc` and `state`: this device has the user's SIM.
    func choose(_ request: Request) -> Response {
        do throws(CarrierSimulator.Refusal) {
            let parameters = try Parameters(contentOf: request)
            let returnURI = try check(parameters)
            guard let site = parameters["mccmnc"].flatMap({ mccmnc in simulator.carrierSite(mccmnc) })
            else { throw CarrierSimulator.Refusal.invalidRequest("Choose one of the carriers.") }
            return .redirect(
                to: FormCoding.url(
                    returnURI,
                    adding: [("mccmnc", site.mccmnc), ("state", parameters["state"])]))
        } catch {
            return .page(RefusalPage.html(error), status: .badRequest)
        }
    }

    /// The redirect URI, if it is the client's.
    @discardableResult
    func check(_ parameters: Parameters) throws(CarrierSimulator.Refusal) -> String {
        guard let client = parameters["client_id"].flatMap({ simulator.clients[$0] })
        else { throw .init("unauthorized_client", "The client_id is missing or unknown.") }
        guard let redirectURI = parameters["redirect_uri"], client.allows(redirectURI)
        else { throw .invalidRequest("The redirect_uri is missing or not registered for this client.") }
        return redirectURI
    }
}
