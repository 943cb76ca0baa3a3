import Primitives

/// Signed requests (CIBA Core section 7.1.1; CAMARA Security and Interoperability Profile).
extension Parameters {
    /// The parameters that must be outside the request object, too.
    private static let outside = ["scope", "response_type", "client_id", "redirect_uri"]

    /// The parameters of an authentication request: those of its request object, if it has one. Outside of it only the
    /// mandatory ones count, with the same values.
    /// - Parameter needsStart: Whether the request object must have `nbf`.
    /// - Throws: `invalid_request_object`; `invalid_request` if the operator requires an object and there is none.
    func openedByProfile(
        at site: CarrierSite, endpoint: String, client: CarrierSimulator.Client, repeated: [String] = outside,
        needsStart: Bool = false, now: Timestamp
    ) throws(OAuthError) -> Parameters {
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
        let start = object.claims["nbf"]?.integer
        guard !needsStart || start.map({ $0 <= seconds + ReceivedJWS.clockSkew }) ?? false
        else { throw .invalidObject("The request's nbf is missing or in the future.") }
        guard object.claims["sub"] == nil else { throw .invalidObject("The request has a sub.") }
        // CIBA Core section 7.1.1.
        let opened = try object.parameters(withNumber: "requested_expiry")
        for name in repeated {
            guard let value = opened[name], value == self[name]
            else { throw .invalidObject("The \(name) is missing, or differs from that of the request object.") }
        }
        return opened
    }

    /// The same at an OpenID provider: nothing but the client's authentication may be outside the request object.
    func openedAuthenticationRequest(
        at site: CarrierSite, client: CarrierSimulator.Client, now: Timestamp
    ) throws(OAuthError) -> Parameters {
        let beside = ClientAuthenticator.credentials.union(["request", "client_id"])
        guard !has("request") || items.allSatisfy({ beside.contains($0.name) })
        else { throw .invalidRequest("There is a parameter beside the request object.") }
        return try openedByProfile(
            at: site, endpoint: site.backchannelEndpoint, client: client, repeated: [], needsStart: true, now: now)
    }
}
