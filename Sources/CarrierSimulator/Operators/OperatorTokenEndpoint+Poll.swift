import Primitives

/// The polls of backchannel authentication requests (CIBA Core sections 10.1 and 11).
extension OperatorTokenEndpoint {
    func grantOfPoll(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite, now: Timestamp
    ) throws(Refusal) -> Granted {
        guard let id = form["auth_req_id"] else { throw .invalidRequest("There is no auth_req_id.") }
        let grant = try simulator.withState { state throws(Refusal) in
            try state.operators.poll(id, clientID: client.id, site, now: now)
        }
        return Granted(grant: grant, requestID: id)
    }
}

extension OperatorState {
    fileprivate mutating func poll(
        _ id: String, clientID: String, _ site: CarrierSite, now: Timestamp
    ) throws(CarrierSimulator.Refusal) -> OperatorGrant {
        typealias Refusal = CarrierSimulator.Refusal
        guard var request = backchannelRequests[id], request.grant.operatorName == site.mccmnc,
            request.grant.clientID == clientID, !request.isRedeemed
        else { throw Refusal("invalid_grant", "The auth_req_id is unknown, used, or another client's.") }
        guard now < request.expiresAt, !site.has(.operatorBackchannelExpired)
        else { throw Refusal("expired_token", "The auth_req_id has expired.") }
        defer { backchannelRequests.put(request, for: id) }
        let isFirst = request.polledAt == nil
        let isEarly = request.polledAt.map { now < $0.advanced(bySeconds: request.interval) } ?? false
        request.polledAt = now
        if isEarly || isFirst && site.has(.operatorBackchannelSlowDown) {
            request.interval += 5
            throw Refusal("slow_down", "Poll five seconds less often.")
        }
        if site.has(.operatorBackchannelDenied) { throw Refusal("access_denied", "The user denied the request.") }
        guard let left = request.pendingPolls, left == 0, !site.has(.operatorBackchannelPending) else {
            request.pendingPolls = request.pendingPolls.map { max(0, $0 - 1) }
            throw Refusal("authorization_pending", "The user has not decided yet.")
        }
        guard request.outcome == .approved else { throw Refusal("access_denied", "The user denied the request.") }
        request.isRedeemed = true
        return request.grant
    }
}
