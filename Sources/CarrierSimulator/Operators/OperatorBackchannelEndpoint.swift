import HTTPServer
import HTTPTypes
import Primitives

/// An operator's backchannel authentication endpoint, in poll mode (CIBA Core section 7).
struct OperatorBackchannelEndpoint: Sendable {
    /// What the names of its faults begin with.
    static let faults = "operator-ciba-"

    let simulator: CarrierSimulator

    /// `POST {issuer}/bc-authorize`. An operator token is approved without the user; a phone number waits for them.
    func start(_ request: Request) async throws -> Response {
        try await simulator.serveForm(.backchannelAuthentication, request, faults: Self.faults) { site, form in
            try form.requireUniqueNames()
            let client = try ClientAuthenticator(simulator, operator: site, endpoint: site.backchannelEndpoint)
                .client(of: request, form: form)
            let id = simulator.random.token(bytes: 24)
            let started = try started(form, client, site)
            simulator.withState { $0.polledRequests.put(started, for: id) }
            return .json([
                "auth_req_id": .string(id), "expires_in": .integer(started.lifetime),
                "interval": .integer(started.interval),
            ])
        }
    }

    private func started(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> PolledRequest {
        let now = simulator.clock.now()
        let parameters = try form.openedByProfile(
            at: site, endpoint: site.backchannelEndpoint, client: client, repeated: [], now: now)
        guard !parameters.has("login_hint_token"), !parameters.has("id_token_hint")
        else { throw .invalidRequest("The login_hint must be the only hint.") }
        guard let hint = parameters["login_hint"] else { throw .invalidRequest("There is no login_hint.") }
        let scopes = try OperatorScopes(parameters["scope"])
        guard scopes.names.contains("openid") else { throw .invalidRequest("The scope must contain openid.") }
        let (user, authentication) = try simulator.subscriber(
            hintedBy: hint, at: site, or: OAuthError("unknown_user_id", "The login_hint names no subscriber."))
        if site.has(.operatorConsentRequired) {
            throw OAuthError("access_denied", "The user has not consented.", status: .forbidden)
        }
        let grant = OperatorGrant(
            operatorName: site.mccmnc, terms: scopes.terms(for: client), subscriber: user,
            authentication: authentication, approvedAt: now)
        var started = PolledRequest(.byOperator(grant), mccmnc: site.mccmnc, clientID: client.id, at: now)
        if authentication == .sim { started.decision = .approved }
        return started
    }
}
