import CarrierSimulator
import Primitives

extension KitCases {
    private static let issuerRule = "iss must be exactly the provider's issuer."
    private static let audienceRule = "aud must name this client, and no audience that is not trusted."

    static let claims: [KitCase] = [
        .refused("issuer-other", .claims, .fault(.idTokenOtherIssuer), rule: issuerRule),
        .refused("issuer-missing", .claims, .fault(.idTokenMissingIssuer), rule: issuerRule),
        .refused(
            "issuer-slash", .claims,
            .token("iss has a slash at its end that the issuer does not have.") {
                $0.claims["iss"] = $0.claims["iss"]?.string.map { .string($0 + "/") }
            }, rule: issuerRule),
        .refused(
            "issuer-array", .claims,
            .token("iss is an array of the right issuer.") { $0.claims["iss"] = .array([$0.claims["iss"] ?? .null]) },
            rule: issuerRule),
        .refused("audience-other", .claims, .fault(.idTokenOtherAudience), rule: audienceRule),
        .refused("audience-missing", .claims, .fault(.idTokenMissingAudience), rule: audienceRule),
        .refused("audience-empty", .claims, .fault(.idTokenEmptyAudience), rule: audienceRule),
        .refused("audience-second", .claims, .fault(.idTokenExtraAudience), rule: audienceRule),
        .refused(
            "audience-second-trusted", .claims,
            secondAudience("aud also names an audience that is trusted where any is; azp is this client.") { _ in },
            rule: audienceRule
        ).loosened(\.trustedAudience),
        .refused(
            "audience-second-without-azp", .claims,
            secondAudience("aud also names an audience that is trusted where any is; there is no azp.") {
                $0["azp"] = nil
            }, rule: "If there are several audiences, azp must be this client."),
        .refused(
            "tenant-other", .claims,
            .token("iss and tid are those of another tenant of the provider.") {
                let issuer = ($0.claims["iss"]?.string ?? "").dropLast(KitTarget.providerName.count)
                $0.claims["iss"] = .string(issuer + "another-tenant")
                $0.claims["tid"] = "another-tenant"
            }, rule: issuerRule
        ).loosened(\.anyTenant),
        .accepted(
            "audience-array", .claims, .fault(.idTokenAudienceArray),
            rule: "aud may be an array of the one client.", source: core + " section 2"),
        .discouraged(
            "authorized-party-other", .claims, .fault(.idTokenOtherAuthorizedParty),
            rule: "If there is an azp, it should be this client."),
        .refused(
            "subject-missing", .claims, .fault(.idTokenMissingSubject),
            rule: "sub is required.", source: core + " section 2"),
        .refused(
            "subject-empty", .claims, .fault(.idTokenEmptySubject),
            rule: "sub identifies the user.", source: core + " section 2"),
        .refused(
            "subject-long", .claims, .fault(.idTokenLongSubject),
            rule: "sub must have at most 255 ASCII characters.", source: core + " section 2"),
        .refused("nonce-other", .claims, .fault(.idTokenWrongNonce), rule: "The nonce must be that of the request.")
            .loosened(\.stateAlone),
        .refused(
            "nonce-missing", .claims, .fault(.idTokenMissingNonce),
            rule: "If the request had a nonce, the token must have it."
        ).loosened(\.stateAlone),
        .discouraged(
            "acr-other", .claims, .asks(acr: "a3"), .fault(.idTokenWrongACR),
            rule: "A requested acr should be checked."),
        .discouraged(
            "acr-missing", .claims, .asks(acr: "a3"), .fault(.idTokenMissingACR),
            rule: "A requested acr should be checked."),
        .discouraged(
            "at-hash-other", .claims, .fault(.idTokenWrongAccessTokenHash),
            rule: "at_hash ties the access token to the ID token.", source: core + " section 3.1.3.8"),
        .discouraged(
            "claim-twice", .claims, .fault(.idTokenDuplicateClaim),
            rule: "The names of claims must be unique; a reader should refuse a repeated one.",
            source: "RFC 7519 section 4"),
        .accepted(
            "claims-unknown", .claims, .fault(.idTokenUnsolicitedClaims),
            rule: "Claims that are not understood must be ignored.", source: core + " section 2"),
    ]

    private static func secondAudience(
        _ text: String, _ edit: @escaping @Sendable (inout JSONMembers) -> Void
    ) -> KitCase.Change {
        .token(text) {
            let client = $0.claims["aud"] ?? .null
            $0.claims["azp"] = client
            $0.claims["aud"] = .array([client, .string(KitTarget.trustedAudience)])
            edit(&$0.claims)
        }
    }

    private static let expiryRule =
        "exp must be in the future; a small leeway, of no more than a few minutes, is allowed."

    static let times: [KitCase] = [
        .refused(
            "expiry-missing", .claims, .fault(.idTokenMissingExpiry), rule: "exp is required.",
            source: core + " section 2"),
        .refused(
            "expiry-text", .claims, .fault(.idTokenTextExpiry), rule: "exp is a number.",
            source: "RFC 7519 section 4.1.4"),
        .discouraged(
            "expired-2-minutes", .claims,
            .token("exp was two minutes ago, and iat four minutes ago.") {
                $0.claims["iat"] = $0.time(plus: -240)
                $0.claims["exp"] = $0.time(plus: -120)
            }, rule: expiryRule, source: "RFC 7519 section 4.1.4"
        ).loosened { $0.skew(over: 120) },
        .refused(
            "expired-6-minutes", .claims,
            .token("exp was six minutes ago, and iat eight minutes ago.") {
                $0.claims["iat"] = $0.time(plus: -480)
                $0.claims["exp"] = $0.time(plus: -360)
            }, rule: expiryRule, source: "RFC 7519 section 4.1.4"
        ).loosened { $0.skew(over: 360) },
        .refused(
            "expired-11-minutes", .claims,
            .token("exp was eleven minutes ago, and iat twelve minutes ago.") {
                $0.claims["iat"] = $0.time(plus: -720)
                $0.claims["exp"] = $0.time(plus: -660)
            }, rule: expiryRule, source: "RFC 7519 section 4.1.4"),
        .refused(
            "issued-at-missing", .claims, .fault(.idTokenMissingIssuedAt), rule: "iat is required.",
            source: core + " section 2"),
        .discouraged(
            "issued-in-2-minutes", .claims,
            .token("iat is in two minutes.") { $0.claims["iat"] = $0.time(plus: 120) },
            rule: "A token from the future was issued by a wrong clock."
        ).loosened { $0.skew(over: 118) },
        .discouraged(
            "issued-in-6-minutes", .claims,
            .token("iat is in six minutes.") { $0.claims["iat"] = $0.time(plus: 360) },
            rule: "A token from the future was issued by a wrong clock."
        ).loosened { $0.skew(over: 358) },
        .discouraged(
            "issued-an-hour-ago", .claims,
            .token("iat was an hour ago; exp is in the future.") { $0.claims["iat"] = $0.time(plus: -3600) },
            rule: "iat limits for how long a nonce must be kept."
        ).loosened { $0.age(over: 3600) },
        .discouraged(
            "issued-a-week-ago", .claims, .fault(.idTokenOld), rule: "iat limits for how long a nonce must be kept."),
        .discouraged(
            "valid-in-2-minutes", .claims,
            .token("nbf is in two minutes.") { $0.claims["nbf"] = $0.time(plus: 120) },
            rule: "A token is not accepted before nbf; a small leeway is allowed.", source: "RFC 7519 section 4.1.5"
        ).loosened { $0.skew(over: 118) },
        .refused(
            "valid-in-6-minutes", .claims,
            .token("nbf is in six minutes.") { $0.claims["nbf"] = $0.time(plus: 360) },
            rule: "A token is not accepted before nbf; a small leeway is allowed.", source: "RFC 7519 section 4.1.5"
        ).loosened { $0.skew(over: 358) },
    ]
}
