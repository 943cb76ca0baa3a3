import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

extension ConformanceCases {
    static let gaps =
        claimGaps + transactionGaps + callbackGaps + userInfoGaps + endpointGaps + metadataGaps + metadataFieldGaps

    private static let claimGaps: [ConformanceCase] = [
        .ok("x-azp:self", .claim("azp", .string(SignInHarness.clientID))),
        .rejected("x-azp:other", "authorized_party", .fault(.idTokenOtherAuthorizedParty)),
        .rejected(
            "x-azp:two-audiences", "audience", .claim("aud", [.string(SignInHarness.clientID), "another-client"]),
            .claim("azp", .string(SignInHarness.clientID))),
        .rejected("x-azp:number", "authorized_party", .claim("azp", 7)),
        .rejected("x-azp:array", "authorized_party", .claim("azp", [.string(SignInHarness.clientID)])),
        .rejected("x-time:iat-ahead", "issued_at", .fault(.idTokenFuture)),
        .rejected("x-time:nbf-ahead", "not_before", .fault(.idTokenNotYetValid)),
        .rejected("x-time:exp-before-iat", "expiry", .claim("exp", inSeconds: -10)),
        .rejected("x-time:exp-text", "expiry", .fault(.idTokenTextExpiry)),
        .rejected("x-time:exp-beyond-all-numbers", "", .claim("exp", .integer(.max))),
        .ok("x-time:exp-within-skew", .claim("iat", inSeconds: -300), .claim("exp", inSeconds: -30)),
        .rejected("x-nonce:missing", "nonce", .claim("nonce", nil)),
        .rejected("x-nonce:empty", "nonce", .claim("nonce", "")),
        .rejected("x-nonce:null", "nonce", .claim("nonce", .null)),
        .rejected("x-nonce:array", "nonce", .draft { $0.claims["nonce"] = .array([$0.claims["nonce"] ?? .null]) }),
        .rejected("x-nonce:of-another-sign-in", "nonce", .steps(signInWithAnotherNonce), .posts(1)),
        // Policy: without a nonce in the request, none is checked.
        .ok("x-nonce:none-sent", .app { $0["nonce"] = nil }),
        .rejected("x-at_hash:wrong", "at_hash", .fault(.idTokenWrongAccessTokenHash)),
        .rejected("x-at_hash:number", "at_hash", .claim("at_hash", 7)),
        .ok("x-at_hash:right", .carrier { $0.includesAccessTokenHash = true }),
        .ok("x-at_hash:absent", .claim("at_hash", nil)),
        .rejected("x-acr:lower", "acr", .asks(acr: "a3"), .claim("acr", "a1")),
        .rejected("x-acr:unknown", "acr", .asks(acr: "a3"), .fault(.idTokenWrongACR)),
        .rejected("x-acr:missing", "acr", .asks(acr: "a3"), .fault(.idTokenMissingACR)),
        .rejected("x-acr:array", "acr", .asks(acr: "a3"), .claim("acr", ["a3"])),
        .ok(
            "x-unsolicited:claims", .fault(.idTokenUnsolicitedClaims), .claim("roles", ["admin"]),
            .claim("amr", "anything"), .claim("email", "admin@example.com"), .steps(signInAndSeeOwnClaims)),
        .ok(
            "x-unsolicited:userinfo", .claims("iss", "https://example.org/"), .claims("aud", "another-client"),
            .claims("exp", 0), .claims("admin", true), .claims("user_id", 1), .steps(signInAndSeeOwnClaims)),
        .upstream("x-scope:no-openid", .tokens("scope", "name email"), .fault(.tokenMissingIDToken)),
        .ok("x-scope:wider", .tokens("scope", "openid name email phone admin")),
    ]

    private static let userInfoGaps: [ConformanceCase] = [
        .rejected("x-userinfo-missing-sub", "userinfo_subject", .fault(.userInfoMissingSubject)),
        .rejected("x-userinfo-missing-sub:array", "userinfo_subject", .fault(.userInfoSubjectArray)),
        .rejected(
            "x-userinfo-missing-sub:array-right-first", "userinfo_subject",
            .object(.userInfo) { $0["sub"] = .array([$0["sub"] ?? .null, "somebody-else"]) }),
        .rejected(
            "x-userinfo-missing-sub:array-right-last", "userinfo_subject",
            .object(.userInfo) { $0["sub"] = .array(["somebody-else", $0["sub"] ?? .null]) }),
        // A repeated member is invalid JSON, so the whole response is refused.
        .upstream("x-userinfo-missing-sub:twice", .object(.userInfo) { $0.append("sub", "somebody-else") }),
        .upstream(
            "x-userinfo-missing-sub:twice-right-last",
            .object(.userInfo) { $0.members.insert(("sub", "somebody-else"), at: 0) }),
        .upstream(
            "x-userinfo-jwt:unsigned",
            .answer(.userInfo, 200, "application/jwt", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzb21lYm9keSJ9.")),
        .upstream(
            "x-userinfo-jwt:labelled-json",
            .answer(.userInfo, 200, "application/json", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9.AAAA")),
        .upstream("x-userinfo-jwt:json-labelled-jwt", .label(.userInfo, "application/jwt")),
        .upstream("x-userinfo-jwt:label-in-capitals", .label(.userInfo, "Application/JWT; charset=utf-8")),
        .upstream("x-userinfo-http:401", .fault(.userInfo401)),
        .upstream("x-userinfo-http:403", .answer(.userInfo, 403, #"{"error":"insufficient_scope"}"#)),
        .upstream("x-userinfo-http:500", .fault(.userInfo500)),
        .upstream("x-userinfo-http:html", .fault(.userInfoNotJSON)),
        .upstream("x-userinfo-http:empty", .answer(.userInfo, "")),
        .upstream("x-userinfo-http:204", .answer(.userInfo) { $0 = .init(status: .noContent) }),
        .upstream("x-userinfo-http:302", .fault(.userInfoRedirect)),
    ]

    private static let endpointGaps: [ConformanceCase] = [
        .rejected("x-tok-error:invalid_grant", "", .fault(.tokenInvalidGrant)),
        .rejected("x-tok-error:invalid_request", "", .answer(.token, 400, #"{"error":"invalid_request"}"#)),
        .upstream("x-tok-error:unauthorized_client", .answer(.token, 400, #"{"error":"unauthorized_client"}"#)),
        .upstream("x-tok-error:invalid_client", .fault(.tokenInvalidClient)),
        .upstream("x-tok-error:503", .fault(.token503)),
        .upstream("x-tok-error:500-html", .fault(.token500)),
        .upstream("x-tok-error:500-invalid_grant", .answer(.token, 500, #"{"error":"invalid_grant"}"#)),
        .rejected("x-tok-error:200-invalid_grant", "", .answer(.token, 200, #"{"error":"invalid_grant"}"#)),
        .upstream("x-tok-error:200-with-tokens", .tokens("error", "invalid_grant")),
        .upstream("x-tok-error:code-of-spaces", .answer(.token, 500, #"{"error":"invalid grant <b>\u0000</b>"}"#)),
        .upstream("x-tok-error:no-code", .answer(.token, 400, #"{"message":"no"}"#)),
        .upstream("x-tok-error:expires_in-negative", .tokens("expires_in", -1)),
        .upstream("x-tok-error:expires_in-object", .tokens("expires_in", [:])),
        .upstream("x-tok-error:access-token-with-line-end", .tokens("access_token", "a\r\nX-Evil: 1")),
        .upstream("x-tok-error:access-token-null", .tokens("access_token", .null)),
        .upstream("x-tok-error:id-token-object", .tokens("id_token", [:])),
    ]

    private static let metadataGaps: [ConformanceCase] =
        [
            .configuration("x-response_type", .metadata("response_types_supported", ["id_token", "token"])),
            .configuration(
                "x-disc-fields:algs-none", .metadata("id_token_signing_alg_values_supported", ["none"])),
            .configuration(
                "x-disc-fields:algs-unknown", .metadata("id_token_signing_alg_values_supported", ["HS256", "ES512"])),
            .configuration(
                "x-disc-fields:methods", .metadata("token_endpoint_auth_methods_supported", ["tls_client_auth"]),
                .later(60)),
            .configuration("x-disc-fields:methods-number", .metadata("token_endpoint_auth_methods_supported", 7)),
            .configuration("x-disc-fields:other-mccmnc", .metadata("mccmnc", 310_999)),
        ]

    private static let metadataFieldGaps: [ConformanceCase] =
        ["issuer", "jwks_uri", "token_endpoint", "authorization_endpoint"].flatMap { name -> [ConformanceCase] in
            [
                .configuration("x-disc-fields:\(name)-absent", .metadata(name, nil)),
                .configuration("x-disc-fields:\(name)-null", .metadata(name, .null)),
                .configuration(
                    "x-disc-fields:\(name)-array", .object(.discovery) { $0[name] = .array([$0[name] ?? .null]) }),
                .configuration("x-disc-fields:\(name)-relative", .metadata(name, .string("/\(name)"))),
                .configuration("x-disc-fields:\(name)-empty", .metadata(name, "")),
                .configuration(
                    "x-disc-fields:\(name)-untrusted-host",
                    .metadata(name, .string("https://carrier.example/\(name)"))),
            ]
        }

    private static let signInWithAnotherNonce: ConformanceCase.Steps = { run in
        var fields = try run.fields()
        fields["nonce"] = try run.fields()["nonce"]
        return [try await run.post(fields)]
    }

    private static let signInAndSeeOwnClaims: ConformanceCase.Steps = { run in
        run.behave()
        let before = try await run.signIn()
        run.misbehave()
        let answer = try await run.signIn()
        let users = [
            try await run.harness.app.me(before.token ?? ""), try await run.harness.app.me(answer.token ?? ""),
        ]
        #expect(users[0].json["user_id"]?.integer != nil)
        #expect(users[0].json["user_id"]?.integer == users[1].json["user_id"]?.integer)
        #expect(users[1].json["email"]?.string == "jane.doe@example.com")
        #expect(!users[1].response.text.contains("admin"))
        return [before, answer]
    }
}
