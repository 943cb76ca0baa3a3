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
        return router
    }

    private func addPages(to router: inout Router) {
        router.get("/") { _ in .page(IndexPage.html(carriers: self.carriers, base: self.baseURL ?? "")) }
        router.get("/style.css") { _ in StyleSheet.response }
    }

    private func addDiscovery(to router: inout Router) {
        let discovery = DiscoveryEndpoint(simulator: self)
        let discoveryUI = DiscoveryUIEndpoint(simulator: self)
        router.get("/.well-known/openid_configuration") { request in
            self.tampered(
                try await discovery.respond(to: request), at: .discovery, Parameters(request.query)["mccmnc"])
        }
        router.get("/carriers/{mccmnc}/.well-known/openid-configuration") {
            try await discovery.respondWithConfiguration(to: $0)
        }
        router.get("/ui/discovery-ui") { discoveryUI.show($0) }
        router.post("/ui/discovery-ui") { discoveryUI.choose($0) }
    }

    private func addAuthorization(to router: inout Router) {
        let authorization = AuthorizationEndpoint(simulator: self)
        // OpenID Connect Core section 3.1.2.1: both methods.
        router.get("/carriers/{mccmnc}/authorize") { try authorization.show($0) }
        router.post("/carriers/{mccmnc}/authorize") { try authorization.show($0) }
        router.post("/carriers/{mccmnc}/authorize/approve") { try authorization.approve($0) }
        router.post("/carriers/{mccmnc}/authorize/deny") { try authorization.deny($0) }
    }

    private func addBackChannel(to router: inout Router) {
        let token = TokenEndpoint(simulator: self)
        let keys = KeysEndpoint(simulator: self)
        let userInfo = UserInfoEndpoint(simulator: self)
        let canary = CanaryEndpoint(simulator: self)
        let serverInitiated = ServerInitiatedEndpoint(simulator: self)
        let asked = "/carriers/{mccmnc}/server-initiated"
        router.post(asked) { try await serverInitiated.start($0) }
        router.post(asked + "/{auth_req_id}/approve") { try await serverInitiated.approve($0) }
        router.post(asked + "/{auth_req_id}/deny") { try await serverInitiated.deny($0) }
        router.post("/carriers/{mccmnc}/token") { request in
            self.tampered(try await token.respond(to: request), at: .token, request.parameters["mccmnc"])
        }
        router.get("/carriers/{mccmnc}/jwks") { request in
            self.tampered(try await keys.respond(to: request), at: .keys, request.parameters["mccmnc"])
        }
        router.get("/carriers/{mccmnc}/userinfo") { request in
            self.tampered(try await userInfo.respond(to: request), at: .userInfo, request.parameters["mccmnc"])
        }
        router.get("/carriers/{mccmnc}/canary/{name}") { try await canary.respond(to: $0) }
        router.post("/carriers/{mccmnc}/canary/{name}") { try await canary.respond(to: $0) }
    }

    private func addControls(to router: inout Router) {
        let faults = FaultsEndpoint(simulator: self)
        let demo = DemoEndpoint(simulator: self)
        router.get("/carriers/{mccmnc}/faults") { try faults.list($0) }
        router.post("/carriers/{mccmnc}/faults") { try faults.set($0) }
        router.post("/carriers/{mccmnc}/keys/rotate") { try faults.rotateKeys($0) }
        let ports = PortsEndpoint(simulator: self)
        router.post("/carriers/{mccmnc}/ports") { try ports.add($0) }
        router.post("/demo/codes") { demo.issueCode($0) }
    }
}

extension CarrierSimulator {
    /// The carrier that a request's path names.
    /// - Throws: 404 if there is none.
    func site(of request: Request) throws(HTTPError) -> CarrierSite {
        guard let mccmnc = request.parameters["mccmnc"], let site = withState({ $0.site(mccmnc) })
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

    /// Notes a request in the log.
    /// - Parameter content: what its form says, if it has one.
    func note(_ endpoint: RequestLog.Endpoint, _ request: Request, mccmnc: String?, content: Parameters? = nil) {
        let parameters = (Parameters(request.query).items + (content?.items ?? [])).map { item in
            RequestLog.Parameter(
                name: String(item.name.prefix(RequestLog.maximumValueCharacters)),
                value: String(item.value.prefix(RequestLog.maximumValueCharacters)))
        }
        let entry = RequestLog.Entry(
            endpoint: endpoint, mccmnc: mccmnc, method: request.method.rawValue, parameters: parameters,
            authorization: request.headers[.authorization])
        withState { $0.log.add(entry) }
    }
}
