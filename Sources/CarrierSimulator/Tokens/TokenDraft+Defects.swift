import Primitives

extension TokenDraft {
    struct DefectContext: Sendable {
        let site: CarrierSite
        /// The issuer of another carrier of the simulator.
        var otherIssuer = ""
        let unpublishedKey: SigningKey
        /// The key of the carrier that shows a port token.
        var presentKey: SigningKey?
        let secret: Secret
    }

    /// Applies the carrier's faults whose names begin with `prefix`, in the order of their names.
    mutating func apply(_ faults: Set<CarrierSimulator.Fault>, prefix: String, _ context: DefectContext) {
        for name in faults.map(\.name).filter({ $0.hasPrefix(prefix) }).sorted() {
            apply(String(name.dropFirst(prefix.count)), context)
        }
    }

    /// Applies one defect. ID tokens, port tokens and logout tokens share the names; other names change nothing here.
    mutating func apply(_ defect: String, _ context: DefectContext) {
        switch defect {
        case "other-issuer": claims["iss"] = kind == .idToken ? "https://example.org/" : "https://example.org"
        case "neighbour-issuer": claims["iss"] = .string(context.otherIssuer)
        case "lookalike-issuer": claims["iss"] = "https://127.0.0.1.example.org"
        case "missing-issuer": claims["iss"] = nil
        case "other-audience": claims["aud"] = "another-client"
        case "missing-audience": claims["aud"] = nil
        case "empty-audience": claims["aud"] = []
        case "extra-audience": claims["aud"] = .array([claims["aud"] ?? .null, "another-client"])
        case "audience-array": claims["aud"] = .array([claims["aud"] ?? .null])
        case "other-subject": claims["sub"] = "310010-an-unknown-subject"
        case "missing-subject": claims["sub"] = nil
        case "empty-subject": claims["sub"] = ""
        case "long-subject": claims["sub"] = .string(String(repeating: "s", count: 256))
        case "missing-issued-at": claims["iat"] = nil
        case "text-issued-at": claims["iat"] = .string("\(now.secondsSinceEpoch)")
        case "missing-expiry": claims["exp"] = nil
        case "text-expiry": claims["exp"] = .string("\(now.advanced(bySeconds: 600).secondsSinceEpoch)")
        // The leeway for logout tokens is 60 seconds.
        case "expired":
            claims["exp"] = time(plus: kind == .logoutToken ? -61 : -360)
            // Otherwise a larger leeway would not make the token valid.
            if kind == .idToken { claims["iat"] = time(plus: -480) }
        case "old": claims["iat"] = time(plus: -daysTooOld * 86_400)
        case "future": claims["iat"] = time(plus: secondsTooEarly)
        case "not-yet-valid": claims["nbf"] = time(plus: secondsTooEarly)
        case "wrong-nonce": claims["nonce"] = "not-the-nonce-that-was-sent"
        case "missing-nonce": claims["nonce"] = nil
        case "wrong-acr": claims["acr"] = "a0"
        case "missing-acr": claims["acr"] = nil
        case "other-context": claims["context"] = "Pay 9,999.00 to another account"
        case "missing-context": claims["context"] = nil
        case "old-authentication": claims["auth_time"] = time(plus: -86_400)
        case "future-authentication": claims["auth_time"] = time(plus: 600)
        case "missing-authentication-time": claims["auth_time"] = nil
        case "wrong-at-hash": claims["at_hash"] = .string(Self.accessTokenHash("another-access-token"))
        case "other-azp": claims["azp"] = "another-client"
        case "duplicate-claim": claims.append("sub", "another-subject")
        case "unsolicited-claims":
            claims["admin"] = true
            claims["groups"] = ["administrators"]
            claims["_claim_names"] = ["email": "elsewhere"]
            claims["email_verified"] = ["value": .null]
        case "huge": claims["padding"] = .string(String(repeating: "p", count: kind == .portToken ? 6_200 : 65_536))
        case "missing-jti": claims["jti"] = nil
        case "no-event": claims["events"] = nil
        case "other-event": claims["events"] = ["http://schemas.openid.net/event/foobar": [:]]
        case "event-not-object": claims["events"] = [CarrierSimulator.logoutEvent: true]
        case "with-nonce": claims["nonce"] = "n-1"
        case "no-sub-no-sid":
            claims["sub"] = nil
            claims["sid"] = nil
        case "empty-sid": claims["sid"] = ""
        default: applyToSignature(defect, context)
        }
    }

    /// The age of a token that is too old, in days.
    private var daysTooOld: Int64 {
        switch kind {
        case .idToken: 7
        case .portToken: 181
        case .logoutToken, .authorizationResponse, .userInfo, .eventToken: 1
        }
    }

    /// How far ahead the times of a token lie that is not valid yet.
    private var secondsTooEarly: Int64 { kind == .logoutToken ? 3600 : 600 }

    private mutating func applyToSignature(_ defect: String, _ context: DefectContext) {
        switch defect {
        case "bad-signature": signature = .changed
        case "no-signature": signature = .empty
        case "alg-none", "alg-none-mixed-case":
            if kind != .portToken { header = [:] }
            header["alg"] = defect == "alg-none" ? "none" : "nOnE"
            signature = .empty
        case "hs256-by-public-key": useHMAC(Array(key.publicPEM.utf8))
        case "hs256-by-secret": useHMAC(Array(context.secret.exposed.utf8))
        case "hs256-by-empty-key": useHMAC([])
        case "ps256": header["alg"] = "PS256"
        case "rs512": header["alg"] = "RS512"
        case "unknown-kid": header["kid"] = "an-unpublished-kid"
        case "kid-absent-single", "kid-absent-multiple", "missing-kid": header["kid"] = nil
        case "missing-type": header["typ"] = nil
        case "other-type": header["typ"] = "JWT"
        case "at-jwt-type": header["typ"] = "at+jwt"
        case "stranger-key": key = context.unpublishedKey
        case "present-key":
            key = context.presentKey ?? key
            header["alg"] = .string(key.algorithm)
        case "jku":
            use(context.unpublishedKey)
            header["jku"] = .string(context.site.canary("keys"))
        case "jwk":
            use(context.unpublishedKey)
            header["jwk"] = key.publicJWK(keyID: key.keyID).value
        case "crit":
            header["crit"] = ["exp-of-the-future"]
            header["exp-of-the-future"] = true
        default: break
        }
    }

    private mutating func useHMAC(_ bytes: [UInt8]) {
        header["alg"] = "HS256"
        signature = .hmac(key: bytes)
    }

    /// Signs with another key and names it in the header. A port token keeps the former carrier's `kid`.
    private mutating func use(_ other: SigningKey) {
        key = other
        header["alg"] = .string(other.algorithm)
        if kind != .portToken { header["kid"] = .string(other.keyID) }
    }

    /// Changes the number of parts of the compact form.
    static func changeForm(_ token: String, _ faults: Set<CarrierSimulator.Fault>) -> String {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        if faults.contains(.idTokenTwoParts) { return parts.prefix(2).joined(separator: ".") }
        guard faults.contains(.idTokenFiveParts) else { return token }
        // Has the form of RFC 7516 section 3.1. None of it can be decrypted.
        let header: JSONMembers = ["alg": "RSA-OAEP", "enc": "A256GCM", "cty": "JWT"]
        let filler = Base64URL.encode([UInt8](repeating: 0xA5, count: 32))
        return "\(Base64URL.encode(header.serialized)).\(filler).\(filler).\(parts[1]).\(filler)"
    }
}
