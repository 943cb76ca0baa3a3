import CarrierSimulator
import Primitives
import Testing

extension ConformanceCases {
    static let olderSuite: [ConformanceCase] =
        olderRedirects + [
            .ok("rp-response_type-code"),
            .ok("rp-id_token-sig-rs256"),
            .rejected(
                "rp-id_token-sig-none", "algorithm", .header("alg", "none"),
                .draft { $0.signature = .made { _ in [0] } }),
            .ok("rp-id_token-sig-es256", .es256),
            .rejected("rp-id_token-sig-hs256", "algorithm", .fault(.idTokenHS256BySecret)),
            .rejected("rp-id_token-bad-sig-rs256", "", .compact(sortSignature)),
            .rejected("rp-id_token-bad-sig-es256", "", .es256, .compact(sortSignature)),
            .rejected("rp-id_token-bad-sig-hs256", "", .fault(.idTokenHS256BySecret), .compact(sortSignature)),
            .rejected("rp-id_token-sig+enc", "format", .fault(.idTokenFiveParts)),
            .rejected("rp-id_token-issuer-mismatch", "issuer", .fault(.idTokenOtherIssuer)),
            .rejected("rp-id_token-sub", "subject", .fault(.idTokenMissingSubject)),
            .rejected("rp-id_token-aud", "audience", .claim("aud", "https://example.com/")),
            .rejected("rp-id_token-aud:missing", "audience", .fault(.idTokenMissingAudience)),
            .rejected("rp-id_token-iat", "issued_at", .fault(.idTokenMissingIssuedAt)),
            .ok("rp-id_token-kid-absent-single-jwks", .fault(.idTokenKeyIDAbsentSingle)),
            .rejected(
                "rp-id_token-kid-absent-multiple-jwks", "key", .header("kid", nil),
                .keys { keys in
                    keys = keys.map { $0.with("kid", nil) } + [ConformanceKeys.rsaJWK(nil)]
                    keys += ["enc", "enc"].map { ConformanceKeys.rsaJWK(nil, use: $0) }
                    keys += ["sig", "sig", "enc", "enc"].map { ConformanceKeys.ecJWK(nil, use: $0) }
                }),
            .rejected("rp-nonce-invalid", "nonce", .claim("nonce", "012345678")),
            .ok("rp-scope-userinfo-claims", .steps(signInAndSeeClaims)),
            .ok(
                "rp-claims-aggregated", .claims("_claim_names", ["address": "a"]), .claims("_claim_sources", aggregated)
            ),
            .ok(
                "rp-claims-distributed", .claims("_claim_names", ["address": "a"]), .object(.userInfo, distributeClaims)
            ),
            .ok("rp-token_endpoint-client_secret_basic", .steps(signInByBasic)),
            .ok(
                "rp-token_endpoint-client_secret_post", .client(ConformanceHarness.postClient),
                takes("client_secret_post")),
            .ok("rp-token_endpoint-private_key_jwt", .client(ConformanceHarness.keyClient), takes("private_key_jwt")),
            // Methods that the client does not support. Such metadata is fetched again after a minute.
            .configuration("rp-token_endpoint-client_secret_post:unsupported", takes("client_secret_post"), .later(60)),
            .configuration("rp-token_endpoint-private_key_jwt:unsupported", takes("private_key_jwt"), .later(60)),
            .configuration("rp-token_endpoint-client_secret_jwt", takes("client_secret_jwt"), .later(60)),
            .ok("rp-userinfo-bearer-header", .steps(signInAndCheckBearer)),
            .rejected("rp-userinfo-bad-sub-claim", "userinfo_subject", .claims("sub", "foobar")),
            .ok("rp-userinfo-sig", .fault(.userInfoSigned)),
            .ok("rp-discovery-openid-configuration"),
            .ok("rp-discovery-jwks_uri-keys", .fetches(1...1)),
            .configuration(
                "rp-discovery-issuer-not-matching-config", .pinned, .metadata("issuer", "https://example.com")),
            .ok("rp-key-rotation-op-sign-key", .steps(rotateBetween), .fetches(2...2)),
            .ok(
                "rp-key-rotation-op-sign-key-native", .fault(.idTokenRotatedKey), .steps(signInBefore),
                .fetches(2...2)),
        ]

    static let newerSuite: [ConformanceCase] =
        newerRedirects + logouts + [
            .ok("oidcc-client-test"),
            .rejected("oidcc-client-test-invalid-iss", "issuer", .claim("iss", plus: "1")),
            .rejected("oidcc-client-test-missing-sub", "subject", .claim("sub", nil)),
            .rejected("oidcc-client-test-invalid-aud", "audience", .claim("aud", plus: "1")),
            .rejected("oidcc-client-test-missing-aud", "audience", .claim("aud", nil)),
            .rejected("oidcc-client-test-missing-iat", "issued_at", .claim("iat", nil)),
            .ok(
                "oidcc-client-test-kid-absent-single-jwks", .header("kid", nil),
                .keys { keys in
                    keys = keys.map { $0.with("kid", nil) }
                    keys += [ConformanceKeys.ecJWK(nil), ConformanceKeys.ecJWK(nil, curve: "secp256k1")]
                    keys += [ConformanceKeys.ed25519JWK(nil)]
                    keys += [
                        ConformanceKeys.rsaJWK("rsa-enc", use: "enc"), ConformanceKeys.ecJWK("ec-enc", use: "enc"),
                    ]
                }),
            .rejected("oidcc-client-test-kid-absent-multiple-jwks", "key", .fault(.idTokenKeyIDAbsentMultiple)),
            .ok("oidcc-client-test-idtoken-sig-rs256"),
            .rejected("oidcc-client-test-idtoken-sig-none", "", .fault(.idTokenAlgNone)),
            .rejected("oidcc-client-test-invalid-sig-rs256", "signature", .fault(.idTokenBadSignature)),
            .rejected("oidcc-client-test-invalid-sig-es256", "signature", .es256, .fault(.idTokenBadSignature)),
            .rejected(
                "oidcc-client-test-invalid-sig-hs256", "", .fault(.idTokenHS256BySecret), .compact { $0 += "AA" }),
            .rejected(
                "oidcc-client-test-userinfo-invalid-sub", "userinfo_subject",
                .object(.userInfo) { $0["sub"] = $0["sub"]?.appending("invalid") }),
            .rejected("oidcc-client-test-nonce-invalid", "nonce", .claim("nonce", plus: "1")),
            .ok("oidcc-client-test-scope-userinfo-claims", .steps(signInAndSeeClaims)),
            .ok("oidcc-client-test-client-secret-basic", .steps(signInByBasic)),
            .ok("oidcc-client-test-userinfo-bearer-header", .steps(signInAndCheckBearer)),
            .ok("oidcc-client-test-userinfo-signed", .fault(.userInfoSigned)),
            .ok(
                "oidcc-client-test-aggregated-claims", .claims("_claim_names", ["address": "a", "phone_number": "a"]),
                .claims("_claim_sources", aggregated)),
            .ok(
                "oidcc-client-test-distributed-claims", .claims("_claim_names", ["credit_score": "a"]),
                .object(.userInfo, distributeClaims)),
            .ok("oidcc-client-test-discovery-openid-config"),
            .ok(
                "oidcc-client-test-discovery-jwks-uri-keys",
                .object(.discovery) {
                    $0["jwks_uri"] = $0["jwks_uri"]?.appending("?path=\(keysPath)")
                },
                .fetches(1...1)),
            .configuration(
                "oidcc-client-test-discovery-issuer-mismatch", .pinned, .metadata("issuer", plus: "INVALID")),
            .ok("oidcc-client-test-signing-key-rotation", .steps(rotateBetween), .fetches(2...2)),
            .ok(
                "oidcc-client-test-signing-key-rotation-just-before-signing", .fault(.idTokenRotatedKey),
                .steps(signInBefore), .fetches(2...2)),
            .configuration("oidcc-client-test-mtls-endpoint-aliases", .object(.discovery, useAliases)),
            .ok("auth-basic", .steps(signInByBasic)),
            .ok("auth-post", .client(ConformanceHarness.postClient), .steps(signInByPost)),
            .ok("auth-private-key-jwt", .client(ConformanceHarness.keyClient), .steps(signInByAssertions)),
            .upstream("code-once", .raw(.token, Scripts.closeAtOnce), .steps(signInTwiceTheSame), .posts(1)),
            .upstream("code-once:timeout", .raw(.token, Scripts.silence), .steps(signInTwiceTheSame), .posts(1)),
        ]

    static let fapi: [ConformanceCase] =
        fapiRedirects + [
            .ok(
                "fapi2-happy-path",
                .keys { keys in
                    let keyID = keys[0]["kid"]?.string
                    keys.insert(ConformanceKeys.rsaJWK(keyID, alg: "PS256"), at: 0)
                    keys.append(ConformanceKeys.rsaJWK(keyID, use: "enc", alg: "RSA-OAEP"))
                }),
            .configuration("fapi2-discovery-issuer-mismatch", .pinned, .metadata("issuer", plus: "INVALID")),
            .rejected("fapi2-invalid-iss", "issuer", .es256, .claim("iss", plus: "1")),
            .rejected("fapi2-invalid-missing-iss", "issuer", .es256, .fault(.idTokenMissingIssuer)),
            .rejected("fapi2-invalid-aud", "audience", .es256, .claim("aud", plus: "1")),
            .rejected("fapi2-invalid-missing-aud", "audience", .es256, .claim("aud", nil)),
            .rejected(
                "fapi2-invalid-secondary-aud", "audience", .es256,
                .draft {
                    $0.claims["aud"] = .array([$0.claims["aud"] ?? .null, $0.claims["aud"]?.appending("1") ?? .null])
                }),
            .ok("fapi2-valid-aud-as-array", .es256, .fault(.idTokenAudienceArray)),
            .rejected("fapi2-invalid-expired-exp", "expiry", .es256, .claim("exp", inSeconds: -360)),
            .rejected("fapi2-invalid-missing-exp", "expiry", .es256, .fault(.idTokenMissingExpiry)),
            .rejected("fapi2-invalid-nonce", "nonce", .es256, .claim("nonce", plus: "1")),
            .rejected("fapi2-invalid-missing-nonce", "nonce", .es256, .fault(.idTokenMissingNonce)),
            .rejected("fapi2-invalid-null-alg", "", .es256, .fault(.idTokenAlgNone)),
            .rejected(
                "fapi2-invalid-alternate-alg", "algorithm", .es256, .header("alg", "RS256"),
                .header("kid", "rsa-none-alt-arg"), .draft { $0.signature = .made(ConformanceKeys.rsaSignature) },
                .keys { $0.append(ConformanceKeys.rsaJWK("rsa-none-alt-arg")) }),
            .ok("fapi2-token-endpoint-response-without-expires_in", .fault(.tokenMissingExpiresIn)),
            .ok("fapi2-token-type-case-insensitivity", .tokens("token_type", "bEARER")),
            .ok(
                "fapi2-rs-dpop-auth-scheme-case-insensitivity", .fault(.dpopRequired), .tokens("token_type", "dPOP"),
                .elsewhere),
            .ok("fapi2-happy-path-no-dpop-nonce", .fault(.dpopRequired), .elsewhere),
            .rejected("fapi1-iat-is-week-in-past", "issued_at", .fault(.idTokenOld)),
            .ok("fapi1-missing-athash", .claim("at_hash", nil)),
            .ok("fapi1-no-scope-in-token-endpoint-response", .tokens("scope", nil), .tokens("expires_in", nil)),
        ]

    /// The only method in the metadata.
    private static func takes(_ method: String) -> ConformanceCase.Change {
        .metadata("token_endpoint_auth_methods_supported", [.string(method)])
    }

    // MARK: Steps

    private static func sortSignature(_ token: inout String) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        // One in eighty ECDSA signatures would still be valid base64url by chance, and refused a step later.
        token = "\(parts[0]).\(parts[1])." + String(parts[2].sorted().dropLast()) + "z"
    }

    /// The same at discovery and at the issuer.
    private static let keysPath = UInt32.random(in: 0...(.max))

    private static let aggregated: JSONValue = [
        // {"alg":"none"} and {"address":"elsewhere"}, unsigned.
        "a": ["JWT": "eyJhbGciOiJub25lIn0.eyJhZGRyZXNzIjoiZWxzZXdoZXJlIn0."]
    ]

    /// Refers a trusting reader to the carrier's canary.
    private static func distributeClaims(_ claims: inout JSONMembers) {
        let mccmnc = String((claims["sub"]?.string ?? "").prefix { $0 != "-" })
        claims["_claim_sources"] = ["a": ["endpoint": .string(canary(mccmnc)), "access_token": "claims-token"]]
    }

    /// At the proxy of the running harness.
    static func canary(_ mccmnc: String) -> String {
        "\(ConformanceHarness.current?.proxy.url ?? "")/carriers/\(mccmnc)/canary/named"
    }

    private static func useAliases(_ metadata: inout JSONMembers) {
        metadata["mtls_endpoint_aliases"] = ["token_endpoint": metadata["token_endpoint"] ?? .null]
        metadata["token_endpoint"] = nil
    }

    static let rotateBetween: ConformanceCase.Steps = { run in
        let first = try await run.signIn()
        run.harness.simulator.rotateKeys(run.mccmnc)
        return [first, try await run.signIn()]
    }

    private static let signInBefore: ConformanceCase.Steps = { run in
        run.behave()
        let first = try await run.signIn()
        run.misbehave()
        return [first, try await run.signIn()]
    }

    static let signInTwiceTheSame: ConformanceCase.Steps = { run in
        let fields = try run.fields()
        return [try await run.post(fields), try await run.post(fields)]
    }

    private static let signInAndSeeClaims: ConformanceCase.Steps = { run in
        let answer = try await run.signIn()
        let me = try await run.harness.app.me(answer.token ?? "")
        #expect(me.json["email"]?.string == "jane.doe@example.com")
        #expect(me.json["name"]?.string == "Jane Doe")
        return [answer]
    }

    /// The simulator requires Basic with a form-encoded id and secret; this secret needs encoding.
    private static let signInByBasic: ConformanceCase.Steps = { run in
        let answer = try await run.signIn()
        let request = run.harness.simulator.log.last(.token, run.mccmnc)
        #expect(request?.authorization?.hasPrefix("Basic ") == true)
        #expect(request?["client_id"] == nil && request?["client_secret"] == nil)
        return [answer]
    }

    private static let signInByPost: ConformanceCase.Steps = { run in
        let answer = try await run.signIn()
        let request = run.harness.simulator.log.last(.token, run.mccmnc)
        #expect(request != nil && request?.authorization == nil && request?["client_assertion"] == nil)
        #expect(request?["client_secret"] == ConformanceHarness.secret)
        return [answer]
    }

    /// The simulator refuses a repeated assertion.
    private static let signInByAssertions: ConformanceCase.Steps = { run in
        let answers = [try await run.signIn(), try await run.signIn()]
        let request = run.harness.simulator.log.last(.token, run.mccmnc)
        #expect(request != nil && request?.authorization == nil && request?["client_secret"] == nil)
        return answers
    }

    private static let signInAndCheckBearer: ConformanceCase.Steps = { run in
        let answer = try await run.signIn()
        let request = run.harness.simulator.log.last(.userInfo, run.mccmnc)
        #expect(request?.authorization?.hasPrefix("Bearer ") == true)
        #expect(request?["access_token"] == nil)
        return [answer]
    }
}
