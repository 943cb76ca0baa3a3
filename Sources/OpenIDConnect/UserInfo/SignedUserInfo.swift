import Primitives

/// A userinfo response that is a signed JWT (OpenID Connect Core section 5.3.2), and is not verified yet.
struct SignedUserInfo: Sendable {
    private let token: SignedToken

    /// - Parameter algorithms: What the provider may sign it with.
    /// - Throws: ``OIDCError/Code/unusableResponse``.
    init(_ text: Secret, algorithms: Set<SigningAlgorithm>, limits: OutboundLimits) throws(OIDCError) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: limits.userInfoBytes, type: .userInfo, allows: algorithms.contains)
        } catch {
            let accepted = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            throw .unusable(
                error.check == .algorithm
                    ? "The userinfo response must be signed with \(accepted), as the client is registered."
                    : "The userinfo response is a JWT that is encrypted, or not a signed one in compact form.")
        }
    }

    func isVerified(by keys: JSONWebKeySet) -> Bool {
        SignatureValidationContext(token, keys: keys).verifies
    }

    /// The claims, which are to be believed if the signature was verified.
    ///
    /// `iss` and `aud` are recommended only. They and the times count where they are present.
    /// - Throws: ``OIDCError/Code/unusableResponse`` if they are another provider's or for another client, or over.
    func claims(
        about idToken: VerifiedIDToken, rules: IDTokenRules, now: Timestamp
    ) throws(OIDCError) -> JSONObject {
        guard let claims = IDTokenValidator.claims(token.payload) else {
            throw .unusable("The signed userinfo response is not a JSON object without duplicate names.")
        }
        let context = Context(claims: claims, rules: rules, issuer: idToken.issuer, now: now)
        guard claims["iss"] == nil || context.hasIssuer else {
            throw .unusable("The iss of the signed userinfo response must be the provider's issuer.")
        }
        guard claims["aud"] == nil || claims.audiences.contains(where: idToken.clientID.text.hasSameBytes(as:)) else {
            throw .unusable("The aud of the signed userinfo response must contain this client.")
        }
        guard context.isNotExpiredIfStated, context.isValidAlready else {
            throw .unusable("The signed userinfo response has expired, or is not valid yet.")
        }
        return claims
    }

    private struct Context: IssuedClaims {
        let claims: JSONObject
        let rules: IDTokenRules
        let issuer: String
        let now: Timestamp
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
