import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// What carriers can do wrong, and what the app is told: each fault of the simulator that touches a sign-in by code.
@Suite(.serialized) struct CarrierFaultTests {
    typealias Fault = CarrierSimulator.Fault

    /// A fault and what must come of it; then a sign-in without it must work again.
    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault
        let status: Int
        let error: String?
        /// What the description has to name: the check of the ID token.
        var says = ""
        var testDescription: String { fault.rawValue }
    }

    private static func refused(_ fault: Fault, _ check: String) -> Row {
        Row(fault: fault, status: 401, error: "invalid_id_token", says: check)
    }

    private static func unusable(_ fault: Fault) -> Row { Row(fault: fault, status: 502, error: "carrier_error") }
    private static func late(_ fault: Fault) -> Row { Row(fault: fault, status: 504, error: "carrier_timeout") }
    private static func fine(_ fault: Fault) -> Row { Row(fault: fault, status: 200, error: nil) }

    static let rows: [Row] = [
        refused(.idTokenOtherIssuer, "issuer"), refused(.idTokenNeighbourIssuer, "issuer"),
        refused(.idTokenMissingIssuer, "issuer"), refused(.idTokenOtherAudience, "audience"),
        refused(.idTokenMissingAudience, "audience"), refused(.idTokenEmptyAudience, "audience"),
        refused(.idTokenExtraAudience, "audience"), fine(.idTokenAudienceArray),
        refused(.idTokenMissingSubject, "subject"), refused(.idTokenEmptySubject, "subject"),
        refused(.idTokenLongSubject, "subject"), refused(.idTokenMissingIssuedAt, "issued_at"),
        refused(.idTokenMissingExpiry, "expiry"), refused(.idTokenTextExpiry, "expiry"),
        refused(.idTokenExpired, "expiry"), refused(.idTokenOld, "issued_at"), refused(.idTokenFuture, "issued_at"),
        refused(.idTokenNotYetValid, "not_before"), refused(.idTokenWrongNonce, "nonce"),
        refused(.idTokenMissingNonce, "nonce"), refused(.idTokenWrongACR, "acr"), refused(.idTokenMissingACR, "acr"),
        refused(.idTokenOtherContext, "context"), refused(.idTokenMissingContext, "context"),
        refused(.idTokenWrongAccessTokenHash, "at_hash"), refused(.idTokenOtherAuthorizedParty, "authorized_party"),
        refused(.idTokenDuplicateClaim, "claims"), fine(.idTokenUnsolicitedClaims),
        refused(.idTokenBadSignature, "signature"), refused(.idTokenNoSignature, ""),
        refused(.idTokenAlgNone, ""), refused(.idTokenAlgNoneMixedCase, ""),
        refused(.idTokenHS256ByPublicKey, "algorithm"), refused(.idTokenHS256BySecret, "algorithm"),
        refused(.idTokenHS256ByEmptyKey, "algorithm"), refused(.idTokenPS256, "algorithm"),
        refused(.idTokenRS512, "algorithm"), refused(.idTokenUnknownKeyID, "key"),
        refused(.idTokenStrangerKey, "signature"), fine(.idTokenKeyIDAbsentSingle),
        refused(.idTokenKeyIDAbsentMultiple, "key"), fine(.idTokenRotatedKey), refused(.idTokenWeakKey, "key"),
        refused(.idTokenEmbeddedKeyURL, ""), refused(.idTokenEmbeddedKey, ""), refused(.idTokenCritical, "critical"),
        unusable(.idTokenHuge), refused(.idTokenFiveParts, "format"), refused(.idTokenTwoParts, "format"),
        unusable(.token500), unusable(.token503), unusable(.tokenRedirect), late(.tokenSlow), unusable(.tokenNotJSON),
        unusable(.tokenNotObject), unusable(.tokenEmpty), unusable(.tokenTrailingGarbage),
        unusable(.tokenDuplicateMember), unusable(.tokenHuge), unusable(.tokenInvalidClient),
        Row(fault: .tokenInvalidGrant, status: 401, error: "invalid_grant"), unusable(.tokenMissingIDToken),
        unusable(.tokenTemporarilyUnavailable),
        unusable(.tokenMissingAccessToken), unusable(.tokenWrongType), fine(.tokenTypeUppercase),
        fine(.tokenMissingExpiresIn),
        unusable(.userInfo401), unusable(.userInfo500), late(.userInfoSlow), unusable(.userInfoNotJSON),
        unusable(.userInfoRedirect), refused(.userInfoWrongSubject, "userinfo_subject"),
        refused(.userInfoMissingSubject, "userinfo_subject"), refused(.userInfoSubjectArray, "userinfo_subject"),
        unusable(.discovery500), late(.discoverySlow), unusable(.discoveryNotJSON), unusable(.discoveryRedirect),
        Row(fault: .discoveryErrorRedirectURI, status: 400, error: "invalid_request"),
        unusable(.discoveryMissingFields), unusable(.discoveryRelativeURLs), fine(.discoveryBareGrantType),
        unusable(.keys500), unusable(.keysNotJSON), unusable(.keysRedirect), fine(.keysJunkEntries),
        fine(.keysSharedKeyID), unusable(.keysHuge),
    ]

    @Test("Whatever a carrier does wrong, the app is told so, and nobody is signed in", arguments: rows)
    func fault(row: Row) async throws {
        try await Stage.with(configure: { if row.status == 504 { $0.outbound.timeouts = .short } }) { stage in
            stage.simulator.setFaults([row.fault], for: Stage.mccmnc)
            let answer = try await stage.app.signIn(try fields(on: stage))
            #expect(answer.status == row.status)
            #expect(answer.error == row.error)
            #expect((answer.token != nil) == (row.status == 200))
            let text = answer.json["error_description"]?.string ?? ""
            #expect(text.contains(row.says), "\(text)")
            #expect(stage.simulator.log.tokenPosts(Stage.mccmnc) <= 1)

            // Another carrier was never touched, and what went wrong poisons nothing.
            let other = try await stage.app.signIn(try stage.authorizedResponse(mccmnc: "310260"))
            #expect(other.status == 200)
        }
    }

    @Test("A carrier that is down is told apart from one that refuses")
    func down() async throws {
        let nowhere = EndpointURL("http://127.0.0.1:9/x", policy: .allowLoopbackHTTP)
        try await Stage.with(configure: { $0.zenkey.discoveryURL = nowhere }) { stage in
            let answer = try await stage.app.signIn(try stage.authorizedResponse())
            #expect(answer.status == 502)
            #expect(answer.json["error_type"]?.string == "networkFailure")
        }
    }

    private func fields(on stage: Stage) throws -> [String: String] {
        var fields = try stage.authorizedResponse(scope: "openid name email", acr: "a3", context: "Pay $10")
        fields["scope"] = "openid name email"
        return fields
    }
}

extension Configuration.Outbound.Timeouts {
    /// So that a carrier that never answers is waited for no longer than a test needs.
    static var short: Self {
        var timeouts = Self()
        timeouts.discovery = .seconds(1)
        timeouts.keys = .seconds(1)
        timeouts.token = .seconds(1)
        timeouts.userInfo = .seconds(1)
        return timeouts
    }
}
