import Primitives

extension IDTokenDraft {
    /// Spoils what a port token says. Other faults change nothing here.
    mutating func changePortTokenClaims(_ fault: CarrierSimulator.Fault, now: Timestamp) {
        func moment(_ seconds: Int64) -> JSON { .number(now.advanced(bySeconds: seconds).secondsSinceEpoch) }
        switch fault {
        case .portTokenOtherIssuer: claims["iss"] = "https://example.org"
        case .portTokenLookalikeIssuer: claims["iss"] = "https://127.0.0.1.example.org"
        case .portTokenMissingIssuer: claims["iss"] = nil
        case .portTokenOtherSubject: claims["sub"] = "310010-a-subject-that-nobody-has"
        case .portTokenMissingSubject: claims["sub"] = nil
        case .portTokenOtherAudience: claims["aud"] = "another-client"
        case .portTokenMissingAudience: claims["aud"] = nil
        case .portTokenExtraAudience: claims["aud"] = .array([claims["aud"] ?? .null, "another-client"])
        case .portTokenOld: claims["iat"] = moment(-181 * 86_400)
        case .portTokenFuture: claims["iat"] = moment(600)
        case .portTokenMissingIssuedAt: claims["iat"] = nil
        case .portTokenTextIssuedAt: claims["iat"] = .text("\(now.secondsSinceEpoch)")
        case .portTokenExpired: claims["exp"] = moment(-360)
        case .portTokenDuplicateClaim: claims.append("sub", "somebody-else")
        case .portTokenHuge: claims["padding"] = .text(String(repeating: "p", count: 6_200))
        default: break
        }
    }

    /// Spoils how a port token is signed. Other faults change nothing here.
    /// - Parameters:
    ///   - stranger: A key that nobody publishes.
    ///   - present: The key of the carrier that shows the port token.
    mutating func changePortTokenSignature(
        _ fault: CarrierSimulator.Fault, stranger: SigningKey, present: SigningKey
    ) {
        switch fault {
        case .portTokenBadSignature: signature = .changed
        case .portTokenStrangerKey: key = stranger
        case .portTokenPresentKey:
            key = present
            header["alg"] = .text(present.algorithm)
        case .portTokenUnknownKeyID: header["kid"] = "a-key-nobody-published"
        case .portTokenMissingKeyID: header["kid"] = nil
        case .portTokenMissingType: header["typ"] = nil
        case .portTokenOtherType: header["typ"] = "JWT"
        case .portTokenAlgNone:
            header["alg"] = "none"
            signature = .empty
        case .portTokenHS256ByPublicKey:
            header["alg"] = "HS256"
            signature = .hmac(key: Array(key.publicPEM.utf8))
        case .portTokenEmbeddedKey:
            key = stranger
            header["alg"] = .text(stranger.algorithm)
            header["jwk"] = .object(stranger.publicJWK(keyID: stranger.keyID))
        case .portTokenCritical: header["crit"] = ["exp-of-the-future"]
        default: break
        }
    }
}
