import Primitives

/// A carrier at the address where the simulator is reached.
struct CarrierSite: Sendable {
    /// Without a slash at the end.
    let base: String
    let carrier: CarrierSimulator.Carrier
    /// How often the carrier's keys were rotated.
    let keyGeneration: Int

    var mccmnc: String { carrier.mccmnc }
    var issuer: String { "\(base)/\(carrier.isCarrier ? "carriers" : "providers")/\(mccmnc)" }
    var authorizationEndpoint: String { issuer + "/authorize" }
    var backchannelAuthenticationEndpoint: String { issuer + "/server-initiated" }
    var tokenEndpoint: String { issuer + "/token" }
    var userInfoEndpoint: String { issuer + "/userinfo" }
    var endSessionEndpoint: String { issuer + "/logout" }
    var keysURL: String { issuer + "/jwks" }
    var discoveryUI: String { base + "/ui/discovery-ui" }
    /// An address no relying party should come to.
    func canary(_ name: String) -> String { "\(issuer)/canary/\(name)" }

    func has(_ fault: CarrierSimulator.Fault) -> Bool { carrier.faults.contains(fault) }

    func slot(_ purpose: KeyPool.Slot.Purpose) -> KeyPool.Slot {
        KeyPool.Slot(mccmnc: carrier.keyRing ?? mccmnc, purpose: purpose, generation: keyGeneration)
    }

    /// An object that an endpoint answers with, as tests want it.
    func tampered(_ object: JSONMembers, at endpoint: CarrierSimulator.RequestLog.Endpoint) -> JSONMembers {
        var object = object
        for edit in carrier.tampering.objects[endpoint] ?? [] { edit(&object) }
        return object
    }
}
