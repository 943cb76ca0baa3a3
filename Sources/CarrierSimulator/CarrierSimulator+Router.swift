public import HTTPServer
import HTTPTypes

extension CarrierSimulator {
    /// Every route of the simulator. It works with a server or without one.
    public var router: Router {
        var router = Router()
        addPages(to: &router)
        for root in ["/carriers/{mccmnc}", "/providers/{mccmnc}", "/operators/{mccmnc}"] {
            addEndpoints(below: root, to: &router)
        }
        addControls(to: &router)
        addOperators(to: &router)
        return router
    }

    /// The pages that a browser shows. Their refusals are pages too.
    private func addPages(to router: inout Router) {
        router.get("/") { _ in .page(IndexPage.html(carriers: self.carriers, base: self.baseURL ?? "")) }
        router.get("/style.css") { _ in StyleSheet.response }
        let discoveryUI = DiscoveryUIEndpoint(simulator: self)
        router.get("/ui/discovery-ui", Self.page(discoveryUI.show))
        router.post("/ui/discovery-ui", Self.page(discoveryUI.choose))
        router.get("/v1/auth", Self.page(discoveryUI.showOptimized))
        router.post("/v1/auth", Self.page(discoveryUI.chooseOptimized))
        let codes = PhoneCodeEndpoint(simulator: self)
        router.post(PhoneCodeEndpoint.path, Self.page(codes.start))
        router.get(PhoneCodeEndpoint.path + "/{number}", Self.page(codes.wait))
        router.get(PhoneCodeEndpoint.phonePath) { _ in .page(PhoneCodePage.phone(self.carriers)) }
        router.post(PhoneCodeEndpoint.phonePath, Self.page(codes.decide))
        // Operators have no page.
        let authorization = AuthorizationEndpoint(simulator: self)
        for root in ["/carriers/{mccmnc}", "/providers/{mccmnc}"] {
            router.post(root + "/authorize/approve", Self.page(authorization.approve))
            router.post(root + "/authorize/deny", Self.page(authorization.deny))
        }
        let logout = LogoutEndpoints(simulator: self)
        router.get("/providers/{mccmnc}/logout", Self.page(logout.endSession))
        router.post("/providers/{mccmnc}/logout", Self.page(logout.endSession))
    }

    private func addEndpoints(below root: String, to router: inout Router) {
        let discovery = DiscoveryEndpoint(simulator: self)
        router.get(root + "/.well-known/openid-configuration", Self.json(discovery.respondWithConfiguration))
        let authorization = AuthorizationEndpoint(simulator: self)
        // OpenID Connect Core section 3.1.2.1: both methods.
        router.get(root + "/authorize", Self.page(authorization.show))
        router.post(root + "/authorize", Self.page(authorization.show))
        router.post(root + "/par", PushedAuthorizationEndpoint(simulator: self).respond)
        router.post(root + "/token", TokenEndpoint(simulator: self).respond)
        // One stand-in takes it.
        router.get(root + "/token", TokenEndpoint(simulator: self).respond)
        router.post(root + "/bc-authorize", BackchannelEndpoint(simulator: self).start)
        addDecisions(below: root + "/bc-authorize", to: &router)
        router.get(root + "/jwks", respondWithKeys)
        router.get(root + "/userinfo", respondWithUserInfo)
        router.get(root + "/v2/users/me", respondWithUserInfo)
        router.get(root + "/v2/users/me/token", respondWithResource)
        router.get(root + "/canary/{name}", respondWithCanary)
        router.post(root + "/canary/{name}", respondWithCanary)
        let controls = ControlEndpoints(simulator: self)
        router.get(root + "/faults", Self.json(controls.listFaults))
        router.post(root + "/faults", Self.json(controls.setFaults))
        router.post(root + "/keys/rotate", Self.json(controls.rotateKeys))
    }

    /// What only carriers, only providers, or the simulator as a whole have.
    private func addControls(to router: inout Router) {
        router.get("/.well-known/openid_configuration", DiscoveryEndpoint(simulator: self).respond)
        let serverInitiated = "/carriers/{mccmnc}/server-initiated"
        router.post(serverInitiated, ServerInitiatedEndpoint(simulator: self).start)
        addDecisions(below: serverInitiated, to: &router)
        // Of stand-ins whose issuer or metadata is not at their address.
        router.get(
            "/providers/{mccmnc}/{tenant}/v2.0/.well-known/openid-configuration",
            Self.json(DiscoveryEndpoint(simulator: self).respondWithConfiguration))
        router.get("/providers/{mccmnc}/emails", respondWithEmails)
        router.post("/providers/{mccmnc}/revoke", respondToRevocation)
        router.post("/providers/{mccmnc}/end-sessions", Self.json(LogoutEndpoints(simulator: self).send))
        let controls = ControlEndpoints(simulator: self)
        router.post("/carriers/{mccmnc}/ports", Self.json(controls.port))
        router.post("/providers/{mccmnc}/native-tokens", Self.shared(controls.makeNativeToken))
        router.get("/demo/people", Self.shared(controls.listPeople))
        router.post("/demo/codes", Self.shared(controls.issueCode))
    }

    /// The APIs of operators, and what controls them.
    private func addOperators(to router: inout Router) {
        let root = "/operators/{mccmnc}"
        let numbers = NumberVerificationEndpoints(simulator: self)
        let swaps = SIMSwapEndpoints(simulator: self)
        // Below a prefix of none to two segments. The profile says which one is right.
        for api in ["/api", "/api/{prefix}", "/api/{prefix}/{more}"].map({ root + $0 }) {
            router.get(api + "/number-verification/{version}/device-phone-number", numbers.share)
            router.post(api + "/number-verification/{version}/verify", numbers.verify)
            router.post(api + "/sim-swap/{version}/check", swaps.check)
            router.post(api + "/sim-swap/{version}/retrieve-date", swaps.retrieveDate)
        }
        router.post(root + "/api/telco-finder/v1/search", TelcoFinderEndpoint(simulator: self).search)
        let controls = ControlEndpoints(simulator: self)
        router.post(root + "/operator-tokens", Self.shared(controls.makeToken))
        router.post(root + "/sim-changes", Self.json(controls.changeSIM))
        let firebase = FirebaseEndpoint(simulator: self)
        router.get(FirebaseEndpoint.path + "/v1beta/jwks", Self.json(firebase.respondWithKeys))
        router.post(FirebaseEndpoint.path + "/tokens", Self.shared(firebase.makeToken))
        router.get("/demo/device", Self.shared(controls.showDevice))
        router.post("/demo/device", Self.shared(controls.setDevice))
        addAggregator(to: &router)
    }

    private func addAggregator(to router: inout Router) {
        let (root, aggregator) = (AggregatorEndpoints.path, AggregatorEndpoints(simulator: self))
        router.post(root + "/token", Self.json(aggregator.respondWithToken))
        router.post(root + "/prepare", Self.json(aggregator.prepare))
        router.post(root + "/process", Self.json(aggregator.process))
        router.get(root + "/link/{session}", Self.json(aggregator.follow))
        router.post(root + "/scan/{session}", Self.json(aggregator.scan))
        router.post(root + "/wallet", Self.shared(aggregator.present))
    }

    /// A handler whose refusals become JSON.
    static func json(_ handler: @escaping Handler) -> Handler {
        { request in
            do { return try await handler(request) } catch let refusal as OAuthError { return refusal.response }
        }
    }

    /// The same, readable for pages on this machine.
    static func shared(_ handler: @escaping Handler) -> Handler {
        { request in try await json(handler)(request).shared(withPageOf: request) }
    }

    /// A handler whose refusals become pages.
    static func page(_ handler: @escaping Handler) -> Handler {
        { request in
            do { return try await handler(request) } catch let refusal as OAuthError { return refusal.page }
        }
    }
}

extension CarrierSimulator {
    /// The carrier or provider that a request's path names.
    /// - Throws: 404 if there is none.
    func site(of request: Request) throws(HTTPError) -> CarrierSite {
        guard let mccmnc = request.parameters["mccmnc"], let site = withState({ $0.site(mccmnc) }),
            request.path.hasPrefix(site.carrier.root)
        else { throw HTTPError(.notFound, code: "not_found", message: "There is no carrier of this mccmnc.") }
        return site
    }

    func carrierSite(_ mccmnc: String) -> CarrierSite? {
        withState { $0.site(mccmnc) }.flatMap { $0.carrier.isCarrier ? $0 : nil }
    }

    /// Adds a request to the log, with the parameters of its form.
    func note(_ endpoint: RequestLog.Endpoint, _ request: Request, mccmnc: String?, content: Parameters? = nil) {
        let parameters = (Parameters(queryOf: request).items + (content?.items ?? [])).map { item in
            RequestLog.Parameter(
                name: String(item.name.prefix(RequestLog.maximumValueCharacters)),
                value: String(item.value.prefix(RequestLog.maximumValueCharacters)))
        }
        let traceFields = ["traceparent", "tracestate", "baggage"].flatMap { text in
            HTTPField.Name(text).map { name in request.headers.values(of: name).map { "\(text): \($0)" } } ?? []
        }
        let entry = RequestLog.Entry(
            endpoint: endpoint, mccmnc: mccmnc, method: request.method.rawValue, parameters: parameters,
            authorization: request.headers[.authorization], proof: request.headers[DPoPVerifier.field],
            correlator: request.headers[OperatorCall.correlatorField],
            host: request.headers.values(of: .host).first, certificate: request.clientCertificate?.subject,
            traceFields: traceFields)
        withState { $0.log.add(entry) }
    }
}
