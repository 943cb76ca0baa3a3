import Primitives

/// Request objects (RFC 9101, OpenID Connect Core section 6.1, CIBA Core section 7.1.1).
extension Parameters {
    /// The parameters of an authorization request: those in its request object, if it has one. Outside of it only
    /// `client_id`, `response_type` and `scope` may be, with the same values (RFC 9101 section 5). The rules are those
    /// of FAPI 2.0 Message Signing section 5.3.1.
    ///
    /// - Throws: `invalid_request_object`; `invalid_request` for parameters beside it, or if the carrier requires one.
    func opened(
        at site: CarrierSite, clients: [String: CarrierSimulator.Client], now: Timestamp
    ) throws(OAuthError) -> Parameters {
        guard let object = try requestObject(at: site) else { return self }
        guard let client = self["client_id"].flatMap({ clients[$0] })
        else { throw OAuthError("unauthorized_client", "The client_id is missing or unknown.") }
        guard object.type == "oauth-authz-req+jwt"
        else { throw .invalidObject("The request's typ must be oauth-authz-req+jwt.") }
        guard object.keyID != nil else { throw .invalidObject("The request names no key.") }
        try object.checkRequestObject(client: client, audiences: [site.issuer], responseType: "code", now: now)
        guard object.claims["sub"] == nil, object.claims["request"] == nil, object.claims["request_uri"] == nil
        else { throw .invalidObject("A request must have neither sub, nor request, nor request_uri.") }
        let seconds = now.secondsSinceEpoch
        guard let start = object.claims["nbf"]?.integer, start <= seconds + ReceivedJWS.clockSkew,
            start >= seconds - 3600, let expiry = object.claims["exp"]?.integer, expiry <= start + 3600
        else { throw .invalidObject("The request's nbf is missing, or too long ago, or too long before its exp.") }
        let inside = try object.parameters()
        for item in items where item.name != "request" {
            guard ["client_id", "response_type", "scope"].contains(item.name), inside[item.name] == item.value
            else { throw .invalidRequest("A parameter beside the request object is not allowed, or differs from it.") }
        }
        return inside
    }

    /// The parameters of an authentication request by the CAMARA Security and Interoperability Profile or CIBA: those
    /// of its request object, if it has one.
    /// - Parameters:
    ///   - repeated: The parameters that must be outside the request object, too, with the same values.
    ///   - needsStart: Whether the request object must have `nbf`.
    /// - Throws: `invalid_request_object`; `invalid_request` if the operator requires an object and there is none.
    func openedByProfile(
        at site: CarrierSite, endpoint: String, client: CarrierSimulator.Client,
        repeated: [String] = ["scope", "response_type", "client_id", "redirect_uri"], needsStart: Bool = false,
        now: Timestamp
    ) throws(OAuthError) -> Parameters {
        guard let object = try requestObject(at: site) else { return self }
        try object.checkRequestObject(client: client, audiences: [endpoint, site.issuer], now: now)
        guard let issued = object.claims["iat"]?.integer, let expiry = object.claims["exp"]?.integer,
            expiry > now.secondsSinceEpoch, expiry - issued <= 300
        else { throw .invalidObject("The request has expired, or is valid for more than 300 seconds.") }
        let start = object.claims["nbf"]?.integer
        guard !needsStart || start.map({ $0 <= now.secondsSinceEpoch + ReceivedJWS.clockSkew }) ?? false
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

    /// Nil if there is none.
    private func requestObject(at site: CarrierSite) throws(OAuthError) -> ReceivedJWS? {
        guard has("request") else {
            guard !site.has(.requestObjectRequired) else { throw .invalidRequest("Requests must be signed.") }
            return nil
        }
        guard let text = self["request"],
            let object = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumRequestObjectBytes)
        else { throw .invalidObject("The request is not a signed JWT.") }
        return object
    }
}

extension ReceivedJWS {
    static let maximumRequestObjectBytes = 32 * 1024

    /// - Parameter responseType: Of an authorization request; nil for another request.
    /// - Throws: `invalid_request_object` if the client did not sign it, or if its issuer, audience or time is wrong.
    func checkRequestObject(
        client: CarrierSimulator.Client, audiences: [String], responseType: String? = nil, now: Timestamp
    ) throws(OAuthError) {
        guard let pem = client.requestObjectPEM, isSigned(byKeyInPEM: pem)
        else { throw .invalidObject("The request's signature is not the client's.") }
        guard self["iss"] == client.id, responseType == nil || self["client_id"] == client.id
        else { throw .invalidObject("The request's iss or client_id is not the client.") }
        guard let audience = self["aud"], audiences.contains(audience)
        else { throw .invalidObject("The request's aud is not this carrier.") }
        let seconds = now.secondsSinceEpoch
        guard let issued = claims["iat"]?.integer, issued <= seconds + Self.clockSkew,
            let expiry = claims["exp"]?.integer, expiry > seconds - Self.clockSkew
        else { throw .invalidObject("The request's iat or exp is missing or out of range.") }
        guard self["jti"] != nil else { throw .invalidObject("The request has no jti.") }
        guard responseType == nil || self["response_type"] == responseType
        else { throw .invalidObject("The request's response_type must be \(responseType ?? "").") }
    }

    /// The claims that are parameters of a request.
    /// - Parameter number: The one that may be a number; nil for none.
    fileprivate func parameters(withNumber number: String? = nil) throws(OAuthError) -> Parameters {
        let own: Set<String> = ["iss", "aud", "iat", "exp", "nbf", "jti"]
        var items: [(name: String, value: String?)] = []
        for member in claims.members where !own.contains(member.name) {
            guard
                let text = member.value.string ?? (member.name == number ? member.value.integer : nil).map({ "\($0)" })
            else { throw .invalidObject("A parameter is not a string.") }
            items.append((member.name, text))
        }
        return Parameters(items)
    }
}

extension OAuthError {
    static func invalidObject(_ reason: String) -> Self { Self("invalid_request_object", reason) }
}
