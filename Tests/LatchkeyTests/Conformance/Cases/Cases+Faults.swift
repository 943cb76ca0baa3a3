import CarrierSimulator
import Primitives

extension ConformanceCases {
    /// Faults of the simulator by name, and the errors of discovery.
    static let faults = namedFaults + pushedAuthorization + dpop + portTokens + backchannelAuthentication

    private static let namedFaults: [ConformanceCase] = [
        .rejected("id-token-other-audience", "audience", .fault(.idTokenOtherAudience)),
        .rejected("id-token-empty-audience", "audience", .fault(.idTokenEmptyAudience)),
        .rejected("id-token-extra-audience", "audience", .fault(.idTokenExtraAudience)),
        .rejected("id-token-empty-subject", "subject", .fault(.idTokenEmptySubject)),
        .rejected("id-token-long-subject", "subject", .fault(.idTokenLongSubject)),
        .rejected("id-token-subject-with-space", "subject", .claim("sub", "some body")),
        .rejected("id-token-subject-number", "subject", .claim("sub", 7)),
        .rejected("id-token-expired", "expiry", .fault(.idTokenExpired)),
        .rejected("id-token-wrong-nonce", "nonce", .fault(.idTokenWrongNonce)),
        .rejected("id-token-other-context", "context", .asks(context: "Pay $10"), .fault(.idTokenOtherContext)),
        .rejected("id-token-missing-context", "context", .asks(context: "Pay $10"), .fault(.idTokenMissingContext)),
        .ok("id-token-right-context", .asks(acr: "a3", context: "Pay $10")),
        .ok("id-token-old-authentication", .fault(.idTokenOldAuthentication)),
        .ok("id-token-future-authentication", .fault(.idTokenFutureAuthentication)),
        .ok("id-token-missing-authentication-time", .fault(.idTokenMissingAuthenticationTime)),
        .rejected("id-token-duplicate-claim", "claims", .fault(.idTokenDuplicateClaim)),
        .upstream("token-temporarily-unavailable", .fault(.tokenTemporarilyUnavailable)),
        .upstream("token-missing-id-token", .fault(.tokenMissingIDToken)),
        .upstream("token-missing-access-token", .fault(.tokenMissingAccessToken)),
        .rejected("userinfo-wrong-subject", "userinfo_subject", .fault(.userInfoWrongSubject)),
        .ok("userinfo-flat", .carrier { $0.userInfoShape = .flat }),
        .configuration("discovery-500", .fault(.discovery500)),
        .configuration("discovery-not-json", .fault(.discoveryNotJSON)),
        .request("discovery-error-redirect-uri", .fault(.discoveryErrorRedirectURI), .later(30)),
        .configuration("discovery-error-description", .fault(.discoveryErrorDescription)),
        .configuration("discovery-missing-fields", .fault(.discoveryMissingFields)),
        .configuration("discovery-other-issuer", .fault(.discoveryOtherIssuer)),
        .configuration("discovery-relative-urls", .fault(.discoveryRelativeURLs)),
        .ok("discovery-no-par", .redirect, .fault(.discoveryNoPAR)),
        .ok("discovery-bare-grant-type", .fault(.discoveryBareGrantType)),
        // A code is posted once, even if the carrier would accept it again.
        .ok("token-reusable-code", .fault(.tokenReusableCode), .steps(signInTwiceTheSame), .posts(1)),
        .rejected(
            "token-reusable-code:transaction", "", .transaction, .fault(.tokenReusableCode), .steps(approveTwice),
            .posts(2)),
        .ok(
            "jwks-other-key-of-one-kid", .header("kid", "k"), .keys { $0 = $0.map { $0.with("kid", "k") } },
            .steps(rotateBetween), .fetches(2...2)),
        .upstream("jwks-500", .fault(.keys500)),
        .upstream("jwks-not-json", .fault(.keysNotJSON)),
    ]
}
