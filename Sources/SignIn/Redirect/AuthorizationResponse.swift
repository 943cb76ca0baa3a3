package import OpenIDConnect
package import Primitives

/// The parameters that a browser brings back from the carrier or from carrier discovery.
package struct AuthorizationResponse: Sendable {
    package var provider: String
    package var state: Secret?
    package var code: Secret?
    /// From carrier discovery.
    package var network: MCCMNC?
    /// From carrier discovery on a secondary device.
    package var loginHintToken: String?
    package var error: String?
    /// The `iss` of the response, if it has one (RFC 9207).
    package var issuer: String?
    /// The client that a signed response is for; nil if the response is not signed.
    package var clientID: ClientID?

    package init(provider: String) { self.provider = provider }
}

/// What a browser brings back: the parameters, or one JWT that has them (JARM).
package enum ReceivedAuthorizationResponse: Sendable {
    /// The parameters.
    case plain(AuthorizationResponse)
    /// The JWT, which is not verified yet.
    case signed(Secret, provider: String)
}

extension AuthorizationResponse {
    /// What a signed response says.
    init(_ verified: VerifiedAuthorizationResponse, provider: String) {
        self.init(provider: provider)
        state = verified.state
        switch verified.outcome {
        case .code(let code): self.code = code
        case .error(let error): self.error = error
        }
        issuer = verified.issuer
        clientID = verified.clientID
    }
}
