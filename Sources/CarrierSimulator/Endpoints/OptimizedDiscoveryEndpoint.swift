import HTTPServer
import HTTPTypes

/// Takes an authorization request for whatever carrier the user has: `/v1/auth`, as ZenKey's optimized discovery does.
/// The carrier's own answer goes straight back to the relying party.
struct OptimizedDiscoveryEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// A live one finds the carrier by the network that the browser comes from; this one asks.
    func show(_ request: Request) -> Response {
        simulator.note(.optimizedDiscovery, request, mccmnc: nil)
        let parameters = Parameters(queryOf: request)
        do throws(CarrierSimulator.Refusal) {
            try DiscoveryUIEndpoint(simulator: simulator).check(parameters)
        } catch {
            return .page(RefusalPage.html(error), status: .badRequest)
        }
        return .page(DiscoveryPage.html(carriers: simulator.carriers, parameters: parameters, action: "/v1/auth"))
    }

    /// Goes to the carrier's authorization endpoint with the whole request.
    func choose(_ request: Request) -> Response {
        do throws(CarrierSimulator.Refusal) {
            let parameters = try Parameters(contentOf: request)
            try DiscoveryUIEndpoint(simulator: simulator).check(parameters)
            guard let site = parameters["mccmnc"].flatMap({ simulator.carrierSite($0) })
            else { throw CarrierSimulator.Refusal.invalidRequest("Choose one of the carriers.") }
            let items = parameters.items.filter { $0.name != "mccmnc" }
                .map { (name: $0.name, value: Optional($0.value)) }
            return .redirect(to: FormCoding.url(site.authorizationEndpoint, adding: items))
        } catch {
            return .page(RefusalPage.html(error), status: .badRequest)
        }
    }
}
