import Primitives

/// A signed authorization request: a JWT whose claims are the request's parameters (RFC 9101, OpenID Connect Core
/// section 6.1).
enum RequestObject {
    static let type = "oauth-authz-req+jwt"
    /// How long a request is valid, in seconds. It is sent at once, and a browser brings it within minutes.
    static let lifetime: Int64 = 300

    /// A request object with the claims that every one has; the parameters follow.
    ///
    /// There is no `sub`: with one it could be taken for a client assertion (RFC 9101 section 10.8).
    /// - Parameter id: Unique: a provider may refuse a second use.
    static func make(
        of clientID: ClientID, signedWith key: ClientKey, audience: String, id: String, now: Timestamp,
        _ add: (inout JSONObjectWriter) -> Void
    ) throws(OIDCError) -> Secret {
        try key.assertion(
            type: type, issuer: clientID.text, audience: audience, id: id, lifetime: lifetime, now: now, add)
    }

    /// A request object with the parameters of a form. It has `nbf`, as FAPI 2.0 Message Signing section 5.3.1 and CIBA
    /// Core section 7.1.1 demand. `max_age` and `requested_expiry` are numbers in it.
    static func make(
        of items: [(name: String, value: String)], for clientID: ClientID, signedWith key: ClientKey,
        at provider: ProviderMetadata, id: String, now: Timestamp
    ) throws(OIDCError) -> Secret {
        try make(of: clientID, signedWith: key, audience: provider.issuer, id: id, now: now) { claims in
            claims.add("nbf", now.secondsSinceEpoch)
            for item in items {
                // Numbers are JSON numbers (RFC 9101 section 4).
                if ["max_age", "requested_expiry"].contains(item.name) {
                    claims.add(named: item.name, json: item.value)
                } else {
                    claims.add(named: item.name, item.value)
                }
            }
        }
    }
}

extension ProviderMetadata {
    /// The key that signs requests to the provider.
    /// - Throws: ``OIDCError/Code/clientRefused`` if there is none, or the provider does not list its algorithm.
    @discardableResult
    package func check(requestObjectKey key: ClientKey?) throws(OIDCError) -> ClientKey {
        guard let key else {
            throw OIDCError(
                .clientRefused, reason: "Requests to the provider must be signed, and the client has no private key.")
        }
        guard requestObjectAlgorithms?.contains(key.algorithm) ?? true else {
            throw .notListed("\(key.algorithm.rawValue) in request_object_signing_alg_values_supported")
        }
        return key
    }
}
