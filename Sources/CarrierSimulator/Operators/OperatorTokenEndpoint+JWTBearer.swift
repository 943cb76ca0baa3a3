import Primitives

/// JWTs as authorization grants (RFC 7523 section 2.1; CAMARA Security and Interoperability Profile, JWT Bearer Flow).
extension OperatorTokenEndpoint {
    /// The assertion authenticates the client, too.
    func grantOfAssertion(_ form: Parameters, _ site: CarrierSite) throws(Refusal) -> OperatorGrant {
        guard !form.has("scope")
        else { throw .invalidRequest("The scope must be in the assertion, and not beside it.") }
        guard let text = form["assertion"],
            let assertion = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumAssertionBytes)
        else { throw .invalidRequest("The assertion is not a signed JWT.") }
        guard let client = assertion["iss"].flatMap({ simulator.clients[$0] }),
            case .privateKeyJWT(let pem, let keyID) = client.authentication, keyID == nil || keyID == assertion.keyID,
            assertion.isSigned(byKeyInPEM: pem)
        else { throw .invalidClient("The assertion's iss or signature is not that of a client.") }
        let seconds = simulator.clock.now().secondsSinceEpoch
        // The profile names the endpoint, whatever client assertions may have.
        guard assertion["aud"] == site.tokenEndpoint else { throw Self.invalid("aud is not the token endpoint") }
        guard let issuedAt = assertion.claims["iat"]?.integer, issuedAt <= seconds + ReceivedJWS.clockSkew
        else { throw Self.invalid("iat is missing or in the future") }
        guard let expiry = assertion.claims["exp"]?.integer, seconds < expiry, expiry <= seconds + 300,
            expiry - issuedAt <= 300
        else { throw Self.invalid("exp is missing, past, or more than 300 seconds ahead") }
        let scopes = try OperatorScopes(assertion["scope"])
        guard let subject = assertion["sub"], ["tel:", "operatortoken:"].contains(where: subject.hasPrefix)
        else { throw Self.invalid("sub is neither tel: nor operatortoken:") }
        guard assertion.assertionID != nil,
            ClientAuthenticator(simulator: simulator, site: site).recordID(of: assertion, client)
        else { throw Self.invalid("jti is missing or was used before") }
        if site.has(.operatorConsentRequired) { throw Self.invalid("subject has not consented") }
        let (user, authentication) = try simulator.subscriber(
            hintedBy: subject, at: site, or: Self.invalid("sub names no subscriber, or its token is used or expired"))
        return OperatorGrant(
            operatorName: site.mccmnc, clientID: client.id, scopes: scopes.names, subscriber: user,
            authentication: authentication, approvedAt: simulator.clock.now())
    }

    private static func invalid(_ fault: String) -> Refusal { Refusal("invalid_grant", "The assertion's \(fault).") }
}
