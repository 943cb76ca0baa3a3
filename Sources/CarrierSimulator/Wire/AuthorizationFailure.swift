/// Where the authorization response goes, and the request's values that it repeats.
struct ReturnAddress: Sendable {
    let redirectURI: String
    let state: String?
    let correlationID: String?
    var clientID = ""
    /// Whether the response is a signed JWT (JARM).
    var isSigned = false
    /// Whether the browser posts it with a form (OAuth 2.0 Form Post Response Mode).
    var isForm = false
}

/// Why an authorization request was refused, and where the error goes.
enum AuthorizationFailure: Error, Sendable {
    /// The client or its redirect URI is not trusted: the browser shows the error (RFC 6749 section 4.1.2.1).
    case shown(CarrierSimulator.Refusal)
    /// A redirect carries the error to the relying party.
    case returned(CarrierSimulator.Refusal, ReturnAddress)

    var refusal: CarrierSimulator.Refusal {
        switch self {
        case .shown(let refusal), .returned(let refusal, _): refusal
        }
    }
}
