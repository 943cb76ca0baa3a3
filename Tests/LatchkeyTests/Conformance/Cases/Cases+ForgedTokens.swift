import CarrierSimulator
import Crypto
import Primitives

extension ConformanceCases {
    static let forgedTokens =
        confusedKeys + symmetricTokens + unsignedTokens + badlySignedTokens + hostileHeaders + largeTokens
        + nestedTokens + encryptedTokens

    private static let confusedKeys: [ConformanceCase] =
        ConformanceKeys.mistakenSecretNames.map { name in
            .rejected(
                "sec-01 rs-to-hs:\(name)", "algorithm", .header("alg", "HS256"),
                .draft { $0.signature = .hmac(key: ConformanceKeys.mistakenSecrets($0)[name] ?? []) })
        }

    private static let symmetricTokens: [ConformanceCase] = [
        .rejected("sec-01 rs-to-hs:HS384", "algorithm", .fault(.idTokenHS256ByPublicKey), .header("alg", "HS384")),
        .rejected("sec-01 rs-to-hs:HS512", "algorithm", .fault(.idTokenHS256ByEmptyKey), .header("alg", "HS512")),
        .rejected("sec-02 hs-by-secret", "algorithm", .fault(.idTokenHS256BySecret)),
    ]

    private static let unsignedTokens: [ConformanceCase] =
        ["none", "None", "NONE", "NoNe", "", "RS256 ", "rs256"].flatMap { name -> [ConformanceCase] in
            [
                .rejected(
                    "sec-03 none-variants:alg-'\(name)'-unsigned", "", .header("alg", .string(name)),
                    .draft { $0.signature = .empty }),
                .rejected("sec-03 none-variants:alg-'\(name)'-signed", "algorithm", .header("alg", .string(name))),
            ]
        }

    private static let badlySignedTokens: [ConformanceCase] = [
        .rejected("sec-03 none-variants:alg-null", "algorithm", .header("alg", .null)),
        .rejected("sec-03 none-variants:alg-0", "algorithm", .header("alg", 0)),
        .rejected("sec-03 none-variants:alg-array", "algorithm", .header("alg", ["RS256"])),
        .rejected("sec-03 none-variants:alg-absent", "algorithm", .header("alg", nil)),
        .rejected("sec-03 none-variants:mixed-case", "", .fault(.idTokenAlgNoneMixedCase)),
        .rejected("sec-03 none-variants:empty-signature", "format", .fault(.idTokenNoSignature)),
        .rejected(
            "sec-03 none-variants:zero-signature", "signature",
            .draft { $0.signature = .made { _ in [UInt8](repeating: 0, count: 256) } }),
        .rejected(
            "sec-03 none-variants:zero-signature-es256", "signature", .es256,
            .draft { $0.signature = .made { _ in [UInt8](repeating: 0, count: 64) } }),
        .rejected(
            "sec-03 none-variants:short-signature", "signature", .draft { $0.signature = .made { _ in [1] } }),
        .rejected("sec-03 none-variants:signature-of-another", "signature", .steps(reuse(.signature)), .posts(2)),
        .rejected("sec-03 none-variants:two-parts", "format", .fault(.idTokenTwoParts)),
        .rejected("sec-03 none-variants:four-parts", "format", .compact { $0 += ".AAAA" }),
        .rejected("sec-03 none-variants:padding", "format", .compact { $0 += "==" }),
        .rejected("sec-03 none-variants:line-end", "format", .compact { $0 += "\n" }),
        .rejected("sec-03 none-variants:not-a-token", "format", .compact { $0 = "not a token" }),
        .rejected("sec-03 none-variants:dots", "format", .compact { $0 = ".." }),
    ]

    private static let hostileHeaders: [ConformanceCase] =
        [
            .rejected("sec-05 jku", "", .fault(.idTokenEmbeddedKeyURL)),
            .rejected("sec-05 jwk", "", .fault(.idTokenEmbeddedKey)),
            .rejected("sec-05 stranger-with-known-kid", "signature", .fault(.idTokenStrangerKey)),
            .rejected("sec-05 jku-with-known-kid", "signature", .fault(.idTokenStrangerKey), .draft(nameCanary("jku"))),
            .rejected("sec-05 x5u-with-known-kid", "signature", .fault(.idTokenStrangerKey), .draft(nameCanary("x5u"))),
            .rejected(
                "sec-05 x5c-with-known-kid", "signature", .fault(.idTokenStrangerKey),
                .header("x5c", ["MIIBszCCAVmgAwIBAgIUAA==", "MIIBszCCAVmgAwIBAgIUAB=="])),
            .ok(
                "sec-05 jku-inside-the-key",
                .keys { $0 = $0.map { $0.with("x5u", .string(canary("310010"))).with("x5c", ["AAAA"]) } }),
            .rejected("sec-07 kid-mismatch", "key", .fault(.idTokenUnknownKeyID), .fetches(2...2)),
            .rejected(
                "sec-07 kid-mismatch:prefix", "key", .draft { $0.header["kid"] = $0.header["kid"]?.appending("1") }),
            .rejected("sec-07 kid-mismatch:empty", "key", .header("kid", "")),
            .rejected("sec-07 kid-mismatch:number", "format", .header("kid", 7)),
            .rejected("sec-07 kid-mismatch:path", "key", .header("kid", "../../../../dev/null")),
            .rejected("sec-07 kid-mismatch:sql", "key", .header("kid", "x' UNION SELECT 'AA")),
            .rejected("sec-10 other-alg:PS256", "algorithm", .fault(.idTokenPS256)),
            .rejected("sec-10 other-alg:RS384", "algorithm", .header("alg", "RS384")),
            .rejected("sec-10 other-alg:RS512", "algorithm", .fault(.idTokenRS512)),
            .rejected("sec-10 other-alg:ES256K", "algorithm", .es256, .header("alg", "ES256K")),
            .rejected("sec-10 other-alg:ES256-by-rsa-key", "algorithm", .header("alg", "ES256")),
            .rejected(
                "sec-10 other-alg:ES384", "algorithm", .header("alg", "ES384"), .header("kid", "p384"),
                .draft { $0.signature = .made(signWithP384) }, .keys { $0.append(ConformanceKeys.p384JWK("p384")) }),
            .rejected(
                "sec-10 other-alg:EdDSA", "algorithm", .header("alg", "EdDSA"), .header("kid", "ed25519"),
                .draft { $0.signature = .made(signWithEd25519) },
                .keys { $0.append(ConformanceKeys.ed25519JWK("ed25519")) }),
            .rejected("sec-14 crit:unknown", "critical_header", .fault(.idTokenCritical)),
            .rejected("sec-14 crit:empty", "critical_header", .header("crit", [])),
            .rejected("sec-14 crit:text", "critical_header", .header("crit", "x")),
            .rejected("sec-14 crit:alg", "critical_header", .header("crit", ["alg"])),
            .rejected("sec-14 crit:absent-parameter", "critical_header", .header("crit", ["absent"])),
            .rejected("sec-14 crit:null", "critical_header", .header("crit", .null)),
            .rejected("sec-14 crit:b64", "critical_header", .header("b64", false)),
            .rejected("sec-14 typ:logout", "type", .header("typ", "logout+jwt")),
            .rejected("sec-14 typ:access-token", "id_token_claims", .accessToken),
            .rejected("sec-14 typ:access-token-without-nonce", "nonce", .header("typ", "at+jwt"), .claim("nonce", nil)),
            .rejected(
                "sec-14 typ:access-token-no-nonce-sent", "id_token_claims", .accessToken, .app { $0["nonce"] = nil }),
            .rejected(
                "sec-14 typ:access-token-with-acr", "id_token_claims", .accessToken, .claim("acr", "a3"),
                .app { $0["nonce"] = nil }),
            .rejected(
                "sec-14 typ:access-token-for-an-api", "audience", .accessToken, .claim("aud", "https://api.example")),
            .ok("sec-14 typ:id-token-as-in-the-guides", .header("typ", "at+jwt")),
            .ok(
                "sec-14 typ:id-token-as-in-the-guides-no-nonce-sent", .header("typ", "at+jwt"),
                .app { $0["nonce"] = nil }),
            .rejected("sec-14 header-twice", "format", .draft { $0.header.append("alg", "none") }),
            .ok(
                "sec-45 header-claims", .header("iss", "https://example.org/"), .header("sub", "victim"),
                .steps(signInAsTheSame)),
        ]

    private static let start = #"{"access_token":"a","token_type":"Bearer","id_token":""#

    private static let largeTokens: [ConformanceCase] =
        [1, 10, 100].flatMap { size -> [ConformanceCase] in
            [
                .upstream(
                    "sec-18 huge-jwt:header-\(size)-MB",
                    .raw(.token, Scripts.huge(start, filler: size << 20, #".e30.AA"}"#))),
                .upstream(
                    "sec-18 huge-jwt:payload-\(size)-MB",
                    .raw(.token, Scripts.huge(start + "eyJhbGciOiJSUzI1NiJ9.", filler: size << 20, #".AA"}"#))),
                .upstream(
                    "sec-18 huge-jwt:signature-\(size)-MB",
                    .raw(.token, Scripts.huge(start + "eyJhbGciOiJSUzI1NiJ9.e30.", filler: size << 20, #""}"#))),
            ]
        }

    private static let nestedTokens: [ConformanceCase] = [
        .rejected("sec-18 huge-jwt:64-KiB", "format", .fault(.idTokenHuge)),
        .ok("sec-18 huge-jwt:20-KiB", .claim("padding", .string(String(repeating: "p", count: 16_000)))),
        .rejected(
            "sec-18 huge-jwt:20-KiB-header", "key", .header("kid", .string(String(repeating: "k", count: 16_000)))),
        .rejected("sec-18 huge-jwt:deep-payload", "claims", .claim("deep", deep(1000))),
        .rejected("sec-18 huge-jwt:deep-header", "format", .header("deep", deep(1000))),
    ]

    private static let encryptedTokens: [ConformanceCase] = [
        .rejected(
            "sec-22 jwe:zip", "format",
            .compact { $0 = encrypted(["alg": "RSA-OAEP", "enc": "A128GCM", "zip": "DEF"]) }),
        .rejected(
            "sec-22 jwe:p2c", "format",
            .compact {
                $0 = encrypted(["alg": "PBES2-HS256+A128KW", "enc": "A128GCM", "p2c": 2_147_483_648, "p2s": "c2FsdA"])
            }),
        .rejected(
            "sec-22 jwe:dir", "format", .compact { $0 = encrypted(["alg": "dir", "enc": "A128GCM", "cty": "JWT"]) }),
        .rejected(
            "sec-22 jwe:in-three-parts", "algorithm", .header("alg", "RSA-OAEP"), .header("enc", "A128GCM"),
            .header("zip", "DEF")),
    ]

    static func deep(_ levels: Int) -> JSONValue {
        var value: JSONValue = []
        for _ in 0..<levels { value = .array([value]) }
        return value
    }

    private static func encrypted(_ header: JSONMembers) -> String {
        let filler = Base64URL.encode([UInt8](repeating: 0xA5, count: 64))
        return [Base64URL.encode(header.serialized), filler, "pSWlpaWlpaWlpaWl", filler, filler].joined(separator: ".")
    }

    private static func nameCanary(_ parameter: String) -> @Sendable (inout TokenDraft) -> Void {
        { draft in
            let mccmnc = String((draft.claims["sub"]?.string ?? "").prefix { $0 != "-" })
            draft.header[parameter] = .string(canary(mccmnc))
        }
    }

    private static func signWithP384(_ input: [UInt8]) -> [UInt8] {
        let signature = try? ConformanceKeys.p384.signature(for: SHA384.hash(data: input))
        return signature.map { Array($0.rawRepresentation) } ?? []
    }

    private static func signWithEd25519(_ input: [UInt8]) -> [UInt8] {
        (try? ConformanceKeys.ed25519.signature(for: input)).map { Array($0) } ?? []
    }
}
