import Primitives

/// A request object as received (OpenID Connect Core section 6.1).
extension ReceivedJWS {
    static let maximumRequestObjectBytes = 32 * 1024

    /// A claim's string; nil if it is missing or empty.
    subscript(name: String) -> String? { claims[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// - Throws: `invalid_request_object` if the client did not sign it, or if its issuer, audience or time is wrong.
    func checkRequestObject(
        client: CarrierSimulator.Client, issuer: String, now: Timestamp
    ) throws(CarrierSimulator.Refusal) {
        guard let pem = client.publicKeyPEM, isSigned(byKeyInPEM: pem) else {
            throw .invalidObject("The request's signature is not the client's.")
        }
        guard self["iss"] == client.id, self["client_id"] == client.id else {
            throw .invalidObject("The request's iss or client_id is not the client.")
        }
        guard self["aud"] == issuer else { throw .invalidObject("The request's aud is not this carrier.") }
        let seconds = now.secondsSinceEpoch
        guard let issued = claims["iat"]?.integer, issued <= seconds + Self.clockSkew,
            let expiry = claims["exp"]?.integer, expiry > seconds - Self.clockSkew
        else { throw .invalidObject("The request's iat or exp is missing or out of range.") }
        guard self["jti"] != nil else { throw .invalidObject("The request has no jti.") }
        guard self["response_type"] == "async_token" else {
            throw .invalidObject("The request's response_type must be async_token.")
        }
    }
}

extension CarrierSimulator.Refusal {
    static func invalidObject(_ reason: String) -> Self { Self("invalid_request_object", reason) }
}
