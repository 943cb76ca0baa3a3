public import HTTPServer
import HTTPTypes

extension CarrierSimulator {
    /// Every address of the simulator. It answers requests whether or not a server stands in front of it.
    public var router: Router {
        var router = Router()
        addPages(to: &router)
        addDiscovery(to: &router)
        addAuthorization(to: &router)
        addBackChannel(to: &router)
        addControls(to: &router)
        addLogout(to: &router)
        return router
    }

    private func addPages(to router: inout Router) {
        router.get("/") { _ in .page(IndexPage.html(carriers: self.carriers, base: self.baseURL ?? "")) }
        router.get("/style.css") { _ in StyleSheet.response }
    }

    /// What each carrier and provider has stands below these.
    private static let roots = ["/carriers/{mccmnc}", "/providers/{mccmnc}"]

    private func addDiscovery(to router: inout Router) {
        let discovery = DiscoveryEndpoint(simulator: self)
        let discoveryUI = DiscoveryUIEndpoint(simulator: self)
        router.get("/.well-known/openid_configuration") { request in
            self.tampered(
                try await discovery.respond(to: request), at: .discovery, Parameters(queryOf: request)["mccmnc"])
        }
        for root in Self.roots {
            router.get(root + "/.well-known/openid-configuration") {
                try await discovery.respondWithConfiguration(to: $0)
            }
        }
        router.get("/ui/discovery-ui") { discoveryUI.show($0) }
        router.post("/ui/discovery-ui") { discoveryUI.choose($0) }
        let codes = PhoneCodeEndpoint(simulator: self)
        router.post(PhoneCodeEndpoint.path) { codes.start($0) }
        router.get(PhoneCodeEndpoint.path + "/{handle}") { codes.wait($0) }
        router.get(PhoneCodeEndpoint.phonePath) { codes.showPhone($0) }
        router.post(PhoneCodeEndpoint.phonePath) { codes.answer($0) }
        let optimized = OptimizedDiscoveryEndpoint(simulator: self)
        router.get("/v1/auth") { optimized.show($0) }
        router.post("/v1/auth") { optimized.choose($0) }
    }

    private func addAuthorization(to router: inout Router) {
        let authorization = AuthorizationEndpoint(simulator: self)
        for root in Self.roots {
            // OpenID Connect Core section 3.1.2.1: both methods.
            router.get(root + "/authorize") { try authorization.show($0) }
            router.post(root + "/authorize") { try authorization.show($0) }
            router.post(root + "/authorize/approve") { try authorization.approve($0) }
            router.post(root + "/authorize/deny") { try authorization.deny($0) }
        }
    }

    private func addBackChannel(to router: inout Router) {
        let token = TokenEndpoint(simulator: self)
        let keys = KeysEndpoint(simulator: self)
        let userInfo = UserInfoEndpoint(simulator: self)
        let resource = ResourceEndpoint(simulator: self)
        let canary = CanaryEndpoint(simulator: self)
        let serverInitiated = BackchannelAuthenticationEndpoint(simulator: self)
        let asked = "/carriers/{mccmnc}/server-initiated"
        router.post(asked) { try await serverInitiated.start($0) }
        router.post(asked + "/{auth_req_id}/approve") {
            try await serverInitiated.approve($0).shared(withPageOf: $0)
        }
        router.post(asked + "/{auth_req_id}/deny") {
            try await serverInitiated.deny($0).shared(withPageOf: $0)
        }
        for root in Self.roots {
            router.post(root + "/token") { request in
                self.tampered(try await token.respond(to: request), at: .token, request.parameters["mccmnc"])
            }
            router.get(root + "/jwks") { request in
                self.tampered(try await keys.respond(to: request), at: .keys, request.parameters["mccmnc"])
            }
            router.get(root + "/userinfo") { request in
                self.tampered(try await userInfo.respond(to: request), at: .userInfo, request.parameters["mccmnc"])
            }
            router.get(root + "/v2/users/me") { try await userInfo.respond(to: $0) }
            router.get(root + "/v2/users/me/token") { try await resource.respond(to: $0) }
            router.get(root + "/canary/{name}") { try await canary.respond(to: $0) }
            router.post(root + "/canary/{name}") { try await canary.respond(to: $0) }
        }
    }

    private func addLogout(to router: inout Router) {
        let logout = LogoutEndpoints(simulator: self)
        router.get("/providers/{mccmnc}/logout") { try logout.endSession($0) }
        router.post("/providers/{mccmnc}/logout") { try logout.endSession($0) }
        router.post("/providers/{mccmnc}/end-sessions") { try await logout.send($0) }
    }

    private func addControls(to router: inout Router) {
        let faults = FaultsEndpoint(simulator: self)
        let demo = DemoEndpoint(simulator: self)
        for root in Self.roots {
            router.get(root + "/faults") { try faults.list($0) }
            router.post(root + "/faults") { try faults.set($0) }
            router.post(root + "/keys/rotate") { try faults.rotateKeys($0) }
        }
        let ports = PortsEndpoint(simulator: self)
        router.post("/carriers/{mccmnc}/ports") { try ports.add($0) }
        let people = PeopleEndpoint(simulator: self)
        router.get("/demo/people") { people.list($0).shared(withPageOf: $0) }
        router.post("/demo/codes") { demo.issueCode($0).shared(withPageOf: $0) }
    }
}

extension CarrierSimulator {
    /// The carrier or provider that a request's path names.
    /// - Throws: 404 if there is none.
    func site(of request: Request) throws(HTTPError) -> CarrierSite {
        guard let mccmnc = request.parameters["mccmnc"], let site = withState({ $0.site(mccmnc) }),
            site.carrier.isCarrier == request.path.hasPrefix("/carriers/")
        else { throw HTTPError(.notFound, code: "not_found", message: "There is no carrier of this mccmnc.") }
        return site
    }

    /// An endpoint's answer, as tests want it.
    private func tampered(_ response: Response, at endpoint: RequestLog.Endpoint, _ mccmnc: String?) -> Response {
        guard let mccmnc, let site = withState({ $0.site(mccmnc) }) else { return response }
        var response = response
        for edit in site.carrier.tampering.answers[endpoint] ?? [] { edit(&response) }
        return response
    }

    /// The carrier of a network code.
    func carrierSite(_ mccmnc: String) -> CarrierSite? {
        withState { $0.site(mccmnc) }.flatMap { $0.carrier.isCarrier ? $0 : nil }
    }

    /// Notes a request in the log.
    /// - Parameter content: what its form says, if it has one.
    func note(_ endpoint: RequestLog.Endpoint, _ request: Request, mccmnc: String?, content: Parameters? = nil) {
        let parameters = (Parameters(queryOf: request).items + (content?.items ?? [])).map { item in
            RequestLog.Parameter(
                name: String(item.name.prefix(RequestLog.maximumValueCharacters)),
                value: String(item.value.prefix(RequestLog.maximumValueCharacters)))
        }
        let entry = RequestLog.Entry(
            endpoint: endpoint, mccmnc: mccmnc, method: request.method.rawValue, parameters: parameters,
            authorization: request.headers[.authorization],
            traceFields: Self.traceFields(of: request))
        withState { $0.log.add(entry) }
    }

    private static func traceFields(of request: Request) -> [String] {
        ["traceparent", "tracestate", "baggage"].flatMap { text in
            HTTPField.Name(text).map { name in request.headers.values(of: name).map { "\(text): \($0)" } } ?? []
        }
    }
}
