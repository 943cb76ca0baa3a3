import HTTPServer
import HTTPTypes

/// Turns a carrier's faults on and off while it runs: `/carriers/{mccmnc}/faults`.
struct FaultsEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// The faults there are, and those that are on.
    func list(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        return .json(Self.state(of: site))
    }

    /// A form or an object with `faults`: names with commas or spaces between, or a list of them. They take the place
    /// of those before; none at all turns every fault off. `delay_seconds` (0 to 3600) sets how long slow ones wait.
    func set(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        do throws(CarrierSimulator.Refusal) {
            let parameters = try Parameters(contentOf: request)
            let faults = try Self.faults(named: parameters["faults"] ?? "")
            let delay = try Self.delay(parameters)
            simulator.update(site.mccmnc) { carrier in
                carrier.faults = faults
                carrier.delay = delay ?? carrier.delay
            }
        } catch {
            return error.response()
        }
        return .json(Self.state(of: try simulator.site(of: request)))
    }

    /// `POST /carriers/{mccmnc}/keys/rotate`.
    func rotateKeys(_ request: Request) throws -> Response {
        let site = try simulator.site(of: request)
        simulator.rotateKeys(site.mccmnc)
        return .json(["rotated": true])
    }

    private static func faults(
        named names: String
    ) throws(CarrierSimulator.Refusal) -> Set<CarrierSimulator.Fault> {
        var faults: Set<CarrierSimulator.Fault> = []
        for name in names.split(whereSeparator: { $0 == "," || $0 == " " }) {
            guard let fault = CarrierSimulator.Fault(rawValue: String(name))
            else { throw .invalidRequest("A fault is unknown. GET this address for the names.") }
            faults.insert(fault)
        }
        return faults
    }

    private static func delay(_ parameters: Parameters) throws(CarrierSimulator.Refusal) -> Duration? {
        guard let text = parameters["delay_seconds"] else { return nil }
        guard let seconds = Int(text), (0...3600).contains(seconds)
        else { throw .invalidRequest("The delay_seconds must be a whole number from 0 to 3600.") }
        return .seconds(seconds)
    }

    private static func state(of site: CarrierSite) -> JSONMembers {
        var known = JSONMembers()
        for fault in CarrierSimulator.Fault.allCases { known.append(fault.rawValue, .text(fault.summary)) }
        return [
            "mccmnc": .text(site.mccmnc), "faults": .texts(site.carrier.faults.map(\.rawValue).sorted()),
            "delay_seconds": .number(site.carrier.delay.components.seconds), "known_faults": .object(known),
        ]
    }
}
