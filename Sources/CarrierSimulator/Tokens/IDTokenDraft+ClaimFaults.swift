import Primitives

extension IDTokenDraft {
    /// Spoils what the token says. One row for each fault of this kind; other faults change nothing here.
    /// - Parameter neighbour: the issuer of another carrier of the simulator.
    mutating func changeClaims(_ fault: CarrierSimulator.Fault, neighbour: String, now: Timestamp) {
        switch fault {
        case .idTokenOtherIssuer: claims["iss"] = "https://example.org/"
        case .idTokenNeighbourIssuer: claims["iss"] = .text(neighbour)
        case .idTokenMissingIssuer: claims["iss"] = nil
        case .idTokenOtherAudience: claims["aud"] = "another-client"
        case .idTokenMissingAudience: claims["aud"] = nil
        case .idTokenEmptyAudience: claims["aud"] = []
        case .idTokenExtraAudience: claims["aud"] = .array([claims["aud"] ?? .null, "another-client"])
        case .idTokenAudienceArray: claims["aud"] = .array([claims["aud"] ?? .null])
        case .idTokenMissingSubject: claims["sub"] = nil
        case .idTokenEmptySubject: claims["sub"] = ""
        case .idTokenLongSubject: claims["sub"] = .text(String(repeating: "s", count: 256))
        case .idTokenMissingIssuedAt: claims["iat"] = nil
        case .idTokenMissingExpiry: claims["exp"] = nil
        case .idTokenTextExpiry: claims["exp"] = .text("\(now.advanced(bySeconds: 600).secondsSinceEpoch)")
        case .idTokenExpired: claims["exp"] = .moment(now, plus: -360)
        case .idTokenOld: claims["iat"] = .moment(now, plus: -7 * 86_400)
        case .idTokenFuture: claims["iat"] = .moment(now, plus: 600)
        case .idTokenNotYetValid: claims["nbf"] = .moment(now, plus: 600)
        case .idTokenWrongNonce: claims["nonce"] = "not-the-nonce-that-was-sent"
        case .idTokenMissingNonce: claims["nonce"] = nil
        case .idTokenWrongACR: claims["acr"] = "a0"
        case .idTokenMissingACR: claims["acr"] = nil
        case .idTokenOtherContext: claims["context"] = "Pay 9,999.00 to somebody else"
        case .idTokenMissingContext: claims["context"] = nil
        case .idTokenOldAuthentication: claims["auth_time"] = .moment(now, plus: -86_400)
        case .idTokenFutureAuthentication: claims["auth_time"] = .moment(now, plus: 600)
        case .idTokenMissingAuthenticationTime: claims["auth_time"] = nil
        case .idTokenWrongAccessTokenHash: claims["at_hash"] = .text(Self.accessTokenHash("another-access-token"))
        case .idTokenOtherAuthorizedParty: claims["azp"] = "another-client"
        case .idTokenDuplicateClaim: claims.append("sub", "somebody-else")
        case .idTokenUnsolicitedClaims: addUnsolicitedClaims()
        case .idTokenHuge: claims["padding"] = .text(String(repeating: "p", count: 65_536))
        default: break
        }
    }

    private mutating func addUnsolicitedClaims() {
        claims["admin"] = true
        claims["groups"] = ["administrators"]
        claims["_claim_names"] = ["email": "elsewhere"]
        claims["email_verified"] = ["value": .null]
    }
}

extension JSON {
    fileprivate static func moment(_ now: Timestamp, plus seconds: Int64) -> JSON {
        .number(now.advanced(bySeconds: seconds).secondsSinceEpoch)
    }
}
