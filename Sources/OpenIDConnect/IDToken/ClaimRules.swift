import Primitives

extension ClaimValidationContext {
    /// The rules for the claims of an ID token, in the order in which a sign-in is refused by them.
    static let claimRules: [TokenRule<IDTokenCheck, Self>] = [
        .init(.issuer, { $0.hasIssuer }, found: { $0.foundIssuer }),
        .init(.subject, { $0.hasSubject }, found: { "sub is \(DisplayText.shape($0.claims["sub"]))" }),
        .init(.audience, { $0.hasAudience }, found: { $0.foundClient("aud") }),
        .init(
            .authorizedParty, { $0.claims["azp"] == nil || $0.isClient($0.claims["azp"]?.string) },
            found: { $0.claims["azp"] == nil ? "azp is absent" : $0.foundClient("azp") }),
        .init(.idTokenClaims, { $0.hasIDTokenClaims }, found: { $0.foundIDTokenClaims }),
        .init(.expiry, { $0.isNotExpired }, found: { $0.foundExpiry }),
        .init(.issuedAt, { $0.wasIssuedJustNow }, found: { $0.foundIssue }),
        .init(.notBefore, { $0.isValidAlready }, found: { $0.foundTime("nbf") }),
        .init(.nonce, { $0.hasNonce }, hasExpectedValue: { $0.expectation.nonce != nil }, found: { $0.foundNonce }),
        .init(
            .requestID, { $0.hasRequestID },
            hasExpectedValue: { $0.requestID == nil || $0.expectation.requestID != nil },
            found: { "auth_req_id is \(DisplayText.shape($0.requestID))" }),
        .init(.acr, { $0.hasACR }, hasExpectedValue: { !$0.expectation.acrValues.isEmpty }, found: { $0.foundACR }),
        .init(
            .authTime, { $0.hasAuthTime },
            hasExpectedValue: {
                $0.expectation.maximumAuthenticationAge != nil || $0.expectation.authenticatedSince != nil
            },
            found: { $0.foundAuthTime }),
        .init(
            .accessTokenHash, { $0.hasAccessTokenHash },
            hasExpectedValue: { $0.claims["at_hash"] == nil || $0.expectation.accessToken != nil },
            found: { $0.foundAccessTokenHash }),
        .init(
            .context, { $0.hasContext }, hasExpectedValue: { $0.expectation.context != nil }, found: { $0.foundContext }
        ),
    ]

    /// The further rules for the ID token of a refresh: it is about the same authentication as the sign-in's
    /// (OpenID Connect Core section 12.2).
    static let refreshRules: [TokenRule<IDTokenCheck, Self>] = [
        .init(.issuer, { $0.hasOriginalIssuer }, found: { $0.foundIssuer }),
        .init(.sameUser, { $0.hasOriginalSubject }, found: { "sub is \(DisplayText.shape($0.claims["sub"]))" }),
        .init(.authorizedParty, { $0.hasOriginalAuthorizedParty }, found: { $0.foundClient("azp") }),
        .init(.nonce, { $0.hasOriginalNonceOrNone }, found: { $0.foundNonce }),
        .init(.authTime, { $0.hasOriginalAuthTime }, found: { $0.foundAuthTime }),
    ]
}

// What an explanation shows of the claims: of subject, nonce and context, the length alone.
extension ClaimValidationContext {
    func foundClient(_ name: String) -> String {
        let named = "\(name) is \(DisplayText.value(claims[name]))"
        return isClient(name == "aud" ? claims.onlyAudience : claims[name]?.string)
            ? named : "\(named); the client is «\(expectation.clientID.text)»"
    }

    var foundIDTokenClaims: String {
        guard claims["events"] == nil else { return "the token has events, as logout tokens have" }
        guard type == .accessToken else { return "typ is not that of access tokens" }
        let evidence = ["nonce", "acr", "auth_time"] + Self.accessTokenClaims
        let present = evidence.filter { claims[$0] != nil }
        return "typ is that of access tokens; of \(evidence.joined(separator: ", ")) the token has "
            + (present.isEmpty ? "none" : present.joined(separator: ", "))
    }

    var foundExpiry: String {
        let found = "\(foundTime("exp")); \(rules.clockSkewSeconds) s of clock skew are allowed"
        guard let expiresAt, let issuedAt, expiresAt <= issuedAt else { return found }
        return found + "; exp is not after iat"
    }

    var foundAuthTime: String {
        var found = foundTime("auth_time")
        if let since = expectation.authenticatedSince {
            found += "; the user had to authenticate again, after \(since.secondsSinceEpoch)"
        }
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
