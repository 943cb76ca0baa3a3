import Primitives

/// The claims of a userinfo response that is a JWT (OpenID Connect Core section 5.3.2), which are not checked yet.
struct UserInfoClaims: Sendable {
    private let claims: JSONObject

    /// - Throws: ``OIDCError/Code/unusableResponse``.
    init(_ payload: [UInt8]) throws(OIDCError) {
        guard let claims = IDTokenValidator.claims(payload) else {
            throw .unusable("The claims of the userinfo response are not a JSON object without duplicate names.")
        }
        self.claims = claims
    }

    /// The claims, after `iss`, `aud` and the times. They are recommended only, and count where they are present.
    /// - Throws: ``OIDCError/Code/unusableResponse`` if they are another provider's or for another client, or over.
    func checked(
        issuer: String, clientID: ClientID, rules: IDTokenRules, now: Timestamp
    ) throws(OIDCError) -> JSONObject {
        let context = PlainClaims(claims: claims, rules: rules, issuer: issuer, now: now)
        guard claims["iss"] == nil || context.hasIssuer else {
            throw .unusable("The iss of the userinfo response must be the provider's issuer.")
        }
        guard claims["aud"] == nil || claims.audiences.contains(where: clientID.text.hasSameBytes(as:)) else {
            throw .unusable("The aud of the userinfo response must contain this client.")
        }
        guard context.isNotExpiredIfStated, context.isValidAlready else {
            throw .unusable("The userinfo response has expired, or is not valid yet.")
        }
        return claims
    }
}

extension JSONObject {
    /// The `aud` claim (RFC 7519 section 4.1.3): a text, or an array of texts.
    fileprivate var audiences: [String] {
        switch self["aud"] {
        case .string(let audience): [audience]
        case .array(let several): several.compactMap(\.string)
        default: []
        }
    }
}
