import Primitives

// What an explanation tells of the claims. Subject, nonce and context are told by their length alone.
extension ClaimValidationContext {
    func foundClient(_ name: String) -> String {
        let named = "\(name) is \(DisplayText.value(claims[name]))"
        return isClient(claims[name]) ? named : "\(named); the client is «\(expectation.clientID.text)»"
    }

    var foundExpiry: String {
        let found = "\(foundTime("exp")); \(rules.clockSkewSeconds) s of clock skew are allowed"
        guard let expiresAt, let issuedAt, expiresAt <= issuedAt else { return found }
        return found + "; that is not after iat"
    }

    var foundAuthTime: String {
        let found = foundTime("auth_time")
        guard let maximum = expectation.maximumAuthenticationAge else { return "\(found); no maximum age was given" }
        return "\(found); at most \(maximum) s ago, and \(rules.clockSkewSeconds) s of clock skew, are allowed"
    }

    var foundNonce: String {
        let found = "nonce is \(DisplayText.shape(claims["nonce"]))"
        guard let expected = expectation.nonce else { return "\(found); none was given to compare it with" }
        return "\(found); the one expected has \(expected.utf8.count)"
    }

    var foundACR: String {
        let found = "acr is \(DisplayText.value(claims["acr"]))"
        guard !expectation.acrValues.isEmpty else { return "\(found); none was asked for" }
        return "\(found); asked for: \(DisplayText.line(expectation.acrValues.joined(separator: " ")))"
    }

    var foundAccessTokenHash: String {
        let found = claims["at_hash"] == nil ? "at_hash is absent" : "at_hash is there"
        return expectation.accessToken == nil ? "\(found); no access token was given to compare it with" : found
    }

    var foundContext: String {
        let found = "context is \(DisplayText.shape(claims["context"]))"
        guard let expected = expectation.context else { return "\(found); none was asked for" }
        return "\(found); the one expected has \(expected.utf8.count)"
    }
}
