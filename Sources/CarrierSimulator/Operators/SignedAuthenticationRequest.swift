import Primitives

/// Signed authentication requests (CAMARA Security and Interoperability Profile, Signed Authentication Requests).
extension Parameters {
    /// The parameters that must be outside the request object, too.
    private static let outside = ["scope", "response_type", "client_id", "redirect_uri"]

    /// The parameters of an authentication request: those of its request object, if it has one. Outside of it only the
    /// mandatory ones count, with the same values.
    /// - Parameters:
    ///   - endpoint: That receives the request.
    ///   - repeated: The parameters that must be outside, too.
    /// - Throws: `invalid_request_object`; `invalid_request` if the operator requires an object and there is none.
    func openedByProfile(
        at site: CarrierSite, endpoint: String, client: CarrierSimulator.Client, repeated: [String] = outside,
        now: Timestamp
    ) throws(CarrierSimulator.Refusal) -> Parameters {
        guard has("request") else {
            guard !site.has(.requestObjectRequired)
            else { throw .invalidRequest("Authentication requests must be signed.") }
            return self
        }
        guard let text = self["request"],
            let object = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumRequestObjectBytes),
            let pem = client.requestObjectPEM, object.isSigned(byKeyInPEM: pem)
        else { throw .invalidObject("The request is not a JWT that the client signed.") }
        guard object["iss"] == client.id else { throw .invalidObject("The request's iss is not the client.") }
        guard let audience = object["aud"], [endpoint, site.issuer].contains(audience)
        else { throw .invalidObject("The request's aud is not this operator.") }
        let seconds = now.secondsSinceEpoch
        guard let issued = object.claims["iat"]?.integer, let expiry = object.claims["exp"]?.integer,
            issued <= seconds + ReceivedJWS.clockSkew, expiry > seconds, expiry - issued <= 300, object["jti"] != nil
        else { throw .invalidObject("The request's iat, exp or jti is missing or out of range.") }
        guard object.claims["sub"] == nil else { throw .invalidObject("The request has a sub.") }
        let own: Set<String> = ["iss", "aud", "iat", "exp", "nbf", "jti"]
        var inside: [(name: String, value: String?)] = []
        for member in object.claims.members where !own.contains(member.name) {
            guard let value = member.value.string else { throw .invalidObject("A parameter is not a string.") }
            inside.append((member.name, value))
        }
        let opened = Parameters(inside)
        for name in repeated {
            guard let value = opened[name], value == self[name]
            else { throw .invalidObject("The \(name) is missing, or differs from that of the request object.") }
        }
        return opened
    }
}
