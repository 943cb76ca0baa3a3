import Crypto
package import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Checks an ID token against the sign-in that asked for it (OpenID Connect Core section 3.1.3.7, RFC 8725).
///
/// Pure: keys and time are given, so that every rule is a row of a table in the tests. The checks stand in the order in
/// which they are made; each is a case of ``IDTokenCheck``.
package struct IDTokenValidator: Sendable {
    let rules: IDTokenRules
    let issuer: String

    package init(rules: IDTokenRules = IDTokenRules(), issuer: String) {
        self.rules = rules
        self.issuer = issuer
    }

    package func validate(
        _ token: SignedToken, keys: JSONWebKeySet, expecting expectation: IDTokenExpectation, now: Timestamp
    ) throws(OIDCError) -> VerifiedIDToken {
        try checkSignature(of: token, keys: keys)
        guard let claims = (try? JSONValue(parsing: token.payload))?.object else { throw .failed(.claims) }
        try checkIssuer(claims)
        let subject = try subject(claims)
        try checkAudience(claims, clientID: expectation.clientID)
        try checkAuthorizedParty(claims, clientID: expectation.clientID)
        let times = try IDTokenTimes(claims, rules: rules, now: now)
        try checkNonce(claims, expected: expectation.nonce)
        try checkACR(claims, accepted: expectation.acrValues)
        try times.checkAuthentication(maximumAge: expectation.maximumAuthenticationAge, rules: rules, now: now)
        try checkAccessTokenHash(claims, accessToken: expectation.accessToken)
        try checkContext(claims, expected: expectation.context)
        return VerifiedIDToken(
            issuer: issuer, subject: subject, clientID: expectation.clientID, issuedAt: times.issuedAt,
            expiresAt: times.expiresAt, authTime: times.authTime, acr: claims["acr"]?.string,
            context: claims["context"]?.string, portTokens: Self.portTokens(claims))
    }

    private func checkSignature(of token: SignedToken, keys: JSONWebKeySet) throws(OIDCError) {
        let candidates = keys.candidates(for: token)
        guard !candidates.isEmpty else { throw .failed(.key) }
        guard candidates.contains(where: { $0.verifies(token.signature, for: token.digest) }) else {
            throw .failed(.signature)
        }
    }

    private func checkIssuer(_ claims: JSONObject) throws(OIDCError) {
        guard let named = claims["iss"]?.string, named.hasSameBytes(as: issuer) else { throw .failed(.issuer) }
    }

    private func subject(_ claims: JSONObject) throws(OIDCError) -> String {
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .failed(.subject) }
        return subject
    }

    /// Stricter than the specification on purpose: no second audience, trusted or not.
    private func checkAudience(_ claims: JSONObject, clientID: ClientID) throws(OIDCError) {
        var audience = claims["aud"]
        if case .array(let several) = audience { audience = several.count == 1 ? several.first : nil }
        guard let named = audience?.string, named.hasSameBytes(as: clientID.text) else { throw .failed(.audience) }
    }

    private func checkAuthorizedParty(_ claims: JSONObject, clientID: ClientID) throws(OIDCError) {
        guard let party = claims["azp"] else { return }
        guard let named = party.string, named.hasSameBytes(as: clientID.text) else {
            throw .failed(.authorizedParty)
        }
    }

    private func checkNonce(_ claims: JSONObject, expected: String?) throws(OIDCError) {
        guard let expected else { return }
        guard let nonce = claims["nonce"]?.string, !nonce.isEmpty, nonce.hasSameBytesInConstantTime(as: expected)
        else { throw .failed(.nonce) }
    }

    private func checkACR(_ claims: JSONObject, accepted: [String]) throws(OIDCError) {
        guard !accepted.isEmpty else { return }
        guard let acr = claims["acr"]?.string, accepted.contains(where: acr.hasSameBytes(as:)) else {
            throw .failed(.acr)
        }
    }

    /// OpenID Connect Core section 3.1.3.8: base64url of the left half of the access token's hash, SHA-256 for both
    /// algorithms we know.
    private func checkAccessTokenHash(_ claims: JSONObject, accessToken: Secret?) throws(OIDCError) {
        guard let claim = claims["at_hash"] else { return }
        guard let named = claim.string else { throw .failed(.accessTokenHash) }
        guard let accessToken else { return }
        let half = Array(SHA256.hash(data: Array(accessToken.exposed.utf8))).prefix(16)
        guard named.hasSameBytes(as: Base64URL.encode(half)) else { throw .failed(.accessTokenHash) }
    }

    private func checkContext(_ claims: JSONObject, expected: String?) throws(OIDCError) {
        guard let expected else { return }
        guard let context = claims["context"]?.string, context.hasSameBytes(as: expected) else {
            throw .failed(.context)
        }
    }

    /// At most eight, of an array or a single text; what is neither is passed over.
    private static func portTokens(_ claims: JSONObject) -> [Secret] {
        switch claims["aka"] {
        case .string(let single): [Secret(single)]
        case .array(let several): several.prefix(8).compactMap { $0.string.map(Secret.init) }
        default: []
        }
    }
}
