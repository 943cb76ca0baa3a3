import HTTPServer
import HTTPTypes

/// Has users change carriers: `POST /carriers/{mccmnc}/ports` with `from`, the former carrier's network code, and `user`,
/// an id that both have (the first one where it is left out).
struct PortsEndpoint: Sendable {
    let simulator: CarrierSimulator

    func add(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        do throws(CarrierSimulator.Refusal) {
            let parameters = try Parameters(contentOf: request)
            guard let from = parameters["from"], from != site.mccmnc,
                let former = simulator.withState({ $0.site(from) })
            else { throw .invalidRequest("The from must be the mccmnc of another of this simulator's carriers.") }
            guard let user = site.carrier.user(parameters["user"]), former.carrier.user(user.id) != nil else {
                throw .invalidRequest("The user must be one of both carriers.")
            }
            simulator.port(user: user.id, from: from, to: site.mccmnc)
            return .json(["user": .text(user.id), "from": .text(from), "to": .text(site.mccmnc)])
        } catch {
            return error.response()
        }
    }
}
