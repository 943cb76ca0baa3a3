import Primitives

/// An authorization request that a client pushed (RFC 9126), and that one browser may use.
struct PushedRequest: Sendable {
    /// Seconds from the push until a browser must have brought the `request_uri`.
    static let lifetime: Int64 = 60
    /// RFC 9126 section 2.2.
    static let uriPrefix = "urn:ietf:params:oauth:request_uri:"

    let mccmnc: String
    let clientID: String
    /// Without the client's credentials.
    let parameters: Parameters
    let expiresAt: Timestamp
    /// Whether a browser has brought it: its page may then be answered, once, and not be shown again.
    var isShown = false
}

extension SimulatorState {
    /// The request of a `request_uri` for the page, which is shown once.
    /// - Throws: `invalid_request_uri` if it is unknown, another client's or carrier's, expired, or was shown.
    mutating func show(
        requestURI: String, clientID: String, mccmnc: String, now: Timestamp
    ) throws(CarrierSimulator.Refusal) -> Parameters {
        let pushed = try pushed(requestURI, clientID, mccmnc)
        guard !pushed.isShown else { throw .invalidRequestURI("The request_uri was used before.") }
        guard now < pushed.expiresAt else { throw .invalidRequestURI("The request_uri has expired.") }
        pushedRequests.update(requestURI) { $0.isShown = true }
        return pushed.parameters
    }

    /// The request of a `request_uri` whose page the user has answered. It is spent.
    mutating func decide(
        requestURI: String, clientID: String, mccmnc: String
    ) throws(CarrierSimulator.Refusal) -> Parameters {
        let pushed = try pushed(requestURI, clientID, mccmnc)
        guard pushed.isShown else { throw .invalidRequestURI("The page of the request_uri was not shown.") }
        pushedRequests.remove(requestURI)
        return pushed.parameters
    }

    private func pushed(
        _ requestURI: String, _ clientID: String, _ mccmnc: String
    ) throws(CarrierSimulator.Refusal) -> PushedRequest {
        guard let pushed = pushedRequests[requestURI], pushed.mccmnc == mccmnc, pushed.clientID == clientID
        else { throw .invalidRequestURI("The request_uri is unknown, or another client's.") }
        return pushed
    }
}
