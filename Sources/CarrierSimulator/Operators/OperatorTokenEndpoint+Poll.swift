import Primitives

/// The polls of backchannel authentication requests (CIBA Core sections 10.1 and 11).
extension OperatorTokenEndpoint {
    func grantOfPoll(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite, now: Timestamp
    ) throws(Refusal) -> Granted {
        let id = try form.requestID()
        let grant = try simulator.withState { state throws(Refusal) in
            try state.operators.backchannelRequests.poll(
                id, by: client.id, at: site, faults: OperatorBackchannelEndpoint.faults, now: now)
        }
        return Granted(grant: grant, requestID: id)
    }
}
