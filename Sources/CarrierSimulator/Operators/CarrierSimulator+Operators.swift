import HTTPServer
import HTTPTypes

extension CarrierSimulator {
    /// The routes of operators with CAMARA's APIs.
    func addOperators(to router: inout Router) {
        let root = "/operators/{mccmnc}"
        router.get(root + "/.well-known/openid-configuration", Self.json(respondWithOperatorMetadata))
        let authorization = OperatorAuthorizationEndpoint(simulator: self)
        router.get(root + "/authorize", Self.page(authorization.respond))
        router.post(root + "/authorize", Self.page(authorization.respond))
        router.post(root + "/token", OperatorTokenEndpoint(simulator: self).respond)
        router.get(root + "/jwks", respondWithKeys)
        let backchannel = OperatorBackchannelEndpoint(simulator: self)
        router.post(root + "/bc-authorize", backchannel.start)
        let numbers = NumberVerificationEndpoints(simulator: self)
        router.get(root + "/api/number-verification/v2/device-phone-number", numbers.share)
        router.post(root + "/api/number-verification/v2/verify", numbers.verify)
        let swaps = SIMSwapEndpoints(simulator: self)
        router.post(root + "/api/sim-swap/v2/check", swaps.check)
        router.post(root + "/api/sim-swap/v2/retrieve-date", swaps.retrieveDate)
        router.post(root + "/api/telco-finder/v1/search", TelcoFinderEndpoint(simulator: self).search)
        router.get(root + "/canary/{name}", respondWithCanary)
        router.post(root + "/canary/{name}", respondWithCanary)
        addOperatorControls(below: root, to: &router)
    }

    private func addOperatorControls(below root: String, to router: inout Router) {
        let faults = ControlEndpoints(simulator: self)
        router.get(root + "/faults", Self.json(faults.listFaults))
        router.post(root + "/faults", Self.json(faults.setFaults))
        router.post(root + "/keys/rotate", Self.json(faults.rotateKeys))
        let controls = OperatorControls(simulator: self)
        router.post(root + "/operator-tokens", Self.shared(controls.makeToken))
        router.post(root + "/sim-changes", Self.json(controls.changeSIM))
        BackchannelControls(simulator: self).add(below: root + "/bc-authorize", to: &router)
        router.get("/demo/device", Self.shared(controls.showDevice))
        router.post("/demo/device", Self.shared(controls.setDevice))
        router.get("/device") { controls.showPage($0) }
        router.post("/device", Self.page(controls.choose))
    }

    /// `GET {issuer}/.well-known/openid-configuration`.
    private func respondWithOperatorMetadata(_ request: Request) async throws -> Response {
        try await serve(.configuration, request, faults: "discovery-") { site in
            guard let profile = site.carrier.operatorProfile
            else { throw Refusal("not_found", "It is no operator.", status: .notFound) }
            let document = site.edited(OperatorMetadata.document(of: site, profile), at: .discovery)
            return .json(document, cacheControl: "max-age=3600")
        }
    }
}
