import Primitives

// What an explanation shows of the claims: of subject, nonce and context, the length alone.
extension ClaimValidationContext {
    func foundClient(_ name: String) -> String {
        let named = "\(name) is \(DisplayText.value(claims[name]))"
        return isClient(name == "aud" ? claims.onlyAudience : claims[name]?.string)
            ? named : "\(named); the client is «\(expectation.clientID.text)»"
    }

    var foundExpiry: String {
        let found = "\(foundTime("exp")); \(rules.clockSkewSeconds) s of clock skew are allowed"
        guard let expiresAt, let issuedAt, expiresAt <= issuedAt else { return found }
        return found + "; exp is not after iat"
    }

    var foundAuthTime: String {
        let found = foundTime("auth_time")
        guard let maximum = expectation.maximumAuthenticationAge else {
            return "\(found); no maximum age was requested"
        }
        return "\(found); at most \(maximum) s ago, and \(rules.clockSkewSeconds) s of clock skew, are allowed"
    }

    var foundNonce: String {
        let found = "nonce is \(DisplayText.shape(claims["nonce"]))"
        guard let expected = expectation.nonce else { return "\(found); no expected nonce was given" }
        return "\(found); the expected one is \(expected.utf8.count)"
    }

    var foundACR: String {
        let found = "acr is \(DisplayText.value(claims["acr"]))"
        guard !expectation.acrValues.isEmpty else { return "\(found); none was requested" }
        return "\(found); requested: \(DisplayText.line(expectation.acrValues.joined(separator: " ")))"
    }

    var foundAccessTokenHash: String {
        let found = claims["at_hash"] == nil ? "at_hash is absent" : "at_hash is there"
        return expectation.accessToken == nil ? "\(found); no access token was given to compare with" : found
    }

    var foundContext: String {
        let found = "context is \(DisplayText.shape(claims["context"]))"
        guard let expected = expectation.context else { return "\(found); none was requested" }
        return "\(found); the expected one is \(expected.utf8.count)"
    }
}
