import Primitives

/// A request object as received (RFC 9101, OpenID Connect Core section 6.1).
extension ReceivedJWS {
    static let maximumRequestObjectBytes = 32 * 1024

    /// A claim's string; nil if it is missing or empty.
    subscript(name: String) -> String? { claims[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// - Throws: `invalid_request_object` if the client did not sign it, or if its issuer, audience or time is wrong.
    func checkRequestObject(
        client: CarrierSimulator.Client, issuer: String, responseType: String, now: Timestamp
    ) throws(CarrierSimulator.Refusal) {
        guard let pem = client.requestObjectPEM, isSigned(byKeyInPEM: pem) else {
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
        guard self["response_type"] == responseType else {
            throw .invalidObject("The request's response_type must be \(responseType).")
        }
    }

    /// The parameters of an authorization request that came as a request object, with the rules of FAPI 2.0 Message
    /// Signing section 5.3.1.
    ///
    /// - Throws: `invalid_request_object`.
    func authorizationParameters(
        client: CarrierSimulator.Client, issuer: String, now: Timestamp
    ) throws(CarrierSimulator.Refusal) -> Parameters {
        guard type == "oauth-authz-req+jwt" else {
            throw .invalidObject("The request's typ must be oauth-authz-req+jwt.")
        }
        guard keyID != nil else { throw .invalidObject("The request names no key.") }
        try checkRequestObject(client: client, issuer: issuer, responseType: "code", now: now)
        guard claims["sub"] == nil, claims["request"] == nil, claims["request_uri"] == nil else {
            throw .invalidObject("A request must have neither sub, nor request, nor request_uri.")
        }
        let seconds = now.secondsSinceEpoch
        guard let start = claims["nbf"]?.integer, start <= seconds + Self.clockSkew, start >= seconds - 3600,
            let expiry = claims["exp"]?.integer, expiry <= start + 3600
        else { throw .invalidObject("The request's nbf is missing, or too long ago, or too long before its exp.") }
        let own: Set<String> = ["iss", "aud", "iat", "exp", "nbf", "jti"]
        var items: [(name: String, value: String?)] = []
        for member in claims.members where !own.contains(member.name) {
            guard let text = member.value.string else { throw .invalidObject("A parameter is not a string.") }
            items.append((member.name, text))
        }
        return Parameters(items)
    }
}

extension CarrierSimulator.Refusal {
    static func invalidObject(_ reason: String) -> Self { Self("invalid_request_object", reason) }
}
