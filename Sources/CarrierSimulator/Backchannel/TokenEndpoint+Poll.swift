import HTTPServer
import Primitives

/// The polls of backchannel authentication requests at OpenID providers (CIBA Core section 10.1).
extension TokenEndpoint {
    static let ciba = "urn:openid:params:grant-type:ciba"

    /// What the user of the polled request has approved, and the client.
    func grantOfPoll(
        _ request: Request, _ form: Parameters, _ site: CarrierSite
    ) throws(Refusal) -> (Grant, CarrierSimulator.Client) {
        let client = try ClientAuthenticator(simulator: simulator, site: site).client(of: request, form: form)
        try form.requireUniqueNames()
        let (id, now) = (try form.requestID(), simulator.clock.now())
        let granted = try simulator.withState { state throws(Refusal) in
            try state.polledRequests.poll(
                id, by: client.id, at: site, faults: ProviderBackchannelEndpoint.faults, now: now)
        }
        guard let user = site.carrier.user(granted.userID) else { throw Refusal("invalid_grant", "The user is gone.") }
        return (Grant(mccmnc: site.mccmnc, terms: granted.terms, user: user, approvedAt: now), client)
    }
}
