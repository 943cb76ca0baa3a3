import HTTPServer
import Primitives

/// A carrier and the addresses of its endpoints.
struct CarrierSite: Sendable {
    /// Without a slash at the end.
    let base: String
    let carrier: CarrierSimulator.Carrier
    /// How often the carrier's keys were rotated.
    let keyGeneration: Int

    var mccmnc: String { carrier.mccmnc }
    var issuer: String { base + carrier.root + mccmnc }
    var authorizationEndpoint: String { issuer + "/authorize" }
    var pushedAuthorizationEndpoint: String { issuer + "/par" }
    var tokenEndpoint: String { issuer + "/token" }
    /// An address that no relying party may request.
    func canary(_ name: String) -> String { "\(issuer)/canary/\(name)" }

    func has(_ fault: CarrierSimulator.Fault) -> Bool { carrier.faults.contains(fault) }

    func slot(_ purpose: KeyPool.Slot.Purpose) -> KeyPool.Slot {
        KeyPool.Slot(mccmnc: carrier.keyRing ?? mccmnc, purpose: purpose, generation: keyGeneration)
    }

    /// An object of a response, after the edits of a test.
    func edited(_ object: JSONMembers, at endpoint: CarrierSimulator.RequestLog.Endpoint) -> JSONMembers {
        var object = object
        for edit in carrier.tampering.objects[endpoint] ?? [] { edit(&object) }
        return object
    }

    /// A response, after the edits of a test.
    func edited(_ response: Response, at endpoint: CarrierSimulator.RequestLog.Endpoint) -> Response {
        var response = response
        for edit in carrier.tampering.responses[endpoint] ?? [] { edit(&response) }
        return response
    }
}
