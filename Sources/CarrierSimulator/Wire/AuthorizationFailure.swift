/// Where the answer to an authorization request goes, and what goes back with it.
struct ReturnAddress: Sendable {
    let redirectURI: String
    let state: String?
    let correlationID: String?
}

/// Why an authorization request was refused, and who may be told.
enum AuthorizationFailure: Error, Sendable {
    /// The client or its redirect URI is in doubt: only the person at the browser is told (RFC 6749 section 4.1.2.1).
    case shown(CarrierSimulator.Refusal)
    /// The relying party is told by a redirect.
    case returned(CarrierSimulator.Refusal, ReturnAddress)

    var refusal: CarrierSimulator.Refusal {
        switch self {
        case .shown(let refusal), .returned(let refusal, _): refusal
        }
    }
}
