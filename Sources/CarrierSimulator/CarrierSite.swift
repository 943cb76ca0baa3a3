import HTTPServer
import Primitives

/// A carrier and the addresses of its endpoints.
struct CarrierSite: Sendable {
    /// Without a slash at the end.
    let base: String
    /// The same for requests with client certificates; nil if they go to the usual endpoints.
    let aliasBase: String?
    let carrier: CarrierSimulator.Carrier
    /// How often the carrier's keys were rotated.
    let keyGeneration: Int

    var mccmnc: String { carrier.mccmnc }
    var issuer: String { base + path }
    private var path: String { carrier.root + mccmnc }
    /// The issuer of ID tokens.
    var tokenIssuer: String {
        guard let path = carrier.standIn?.issuerPath else { return issuer }
        return issuer + path.replacing("{tenantid}", with: CarrierSimulator.StandIn.tenant)
    }
    var authorizationEndpoint: String { issuer + "/authorize" }
    var pushedAuthorizationEndpoint: String { issuer + "/par" }
    var tokenEndpoint: String { issuer + "/token" }
    var backchannelEndpoint: String { issuer + "/bc-authorize" }
    /// An address that no relying party may request.
    func canary(_ name: String) -> String { "\(issuer)/canary/\(name)" }

    func has(_ fault: CarrierSimulator.Fault) -> Bool { carrier.faults.contains(fault) }

    func slot(_ purpose: KeyPool.Slot.Purpose) -> KeyPool.Slot {
        KeyPool.Slot(mccmnc: carrier.keyRing ?? mccmnc, purpose: purpose, generation: keyGeneration)
    }

    /// An object of a response, after the edits of a test.
    func edited(_ object: JSONMembers, at endpoint: CarrierSimulator.RequestLog.Endpoint) -> JSONMembers {
        carrier.tampering.objects[endpoint, default: []].reduce(into: object) { $1(&$0) }
    }

    /// A response, after the edits of a test.
    func edited(_ response: Response, at endpoint: CarrierSimulator.RequestLog.Endpoint) -> Response {
        carrier.tampering.responses[endpoint, default: []].reduce(into: response) { $1(&$0) }
    }
}
