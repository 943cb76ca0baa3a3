import CarrierSimulator
import OpenIDConnect
import Primitives

/// The header and the signature of the ID token, and the provider's keys.
extension KitCases {
    private static let typeRule = "A token of another kind must not pass as an ID token."

    static let headers: [KitCase] = [
        .refused(
            "type-logout-token", .signature,
            .token("typ is logout+jwt.") { $0.header["typ"] = "logout+jwt" },
            rule: typeRule, source: "RFC 8725 section 3.11"),
        .discouraged(
            "type-access-token", .signature,
            .token("typ is at+jwt, the type of access tokens; all claims are those of an ID token.") {
                $0.header["typ"] = "at+jwt"
            }, rule: typeRule, source: "RFC 9068 section 2.1"
        ).loosened { $0.allows(.accessToken) },
        .refused(
            "access-token", .signature,
            .token("An access token of RFC 9068 for this client is in the place of the ID token.") { draft in
                draft.header["typ"] = "at+jwt"
                draft.claims["nonce"] = nil
                draft.claims["client_id"] = draft.claims["aud"]
                draft.claims["scope"] = "openid email"
                draft.claims["jti"] = "token-1"
            }, rule: typeRule, source: "RFC 9068 section 2.1"),
        .accepted(
            "type-absent", .signature, .token("There is no typ.") { $0.header["typ"] = nil },
            rule: "typ is optional.", source: "RFC 7519 section 5.1"),
        .refused(
            "critical-header", .signature, .fault(.idTokenCritical),
            rule: "An extension in crit that is not understood makes the token invalid.",
            source: "RFC 7515 section 4.1.11"),
    ]

    private static let signatureRule = "The signature must verify with a key of the provider."
    private static let algorithmRule = "alg must be the one that the client is registered for, and never none."

    static let signatures: [KitCase] = [
        .refused("signature-changed", .signature, .fault(.idTokenBadSignature), rule: signatureRule),
        .refused("signature-empty", .signature, .fault(.idTokenNoSignature), rule: signatureRule),
        .refused("alg-none", .signature, .fault(.idTokenAlgNone), rule: algorithmRule),
        .refused(
            "alg-none-mixed-case", .signature, .fault(.idTokenAlgNoneMixedCase), rule: algorithmRule,
            source: "RFC 8725 section 3.2"),
        .refused(
            "alg-hs256-public-key", .signature, .fault(.idTokenHS256ByPublicKey),
            rule: "A public key must not be used as a secret.", source: "RFC 8725 section 2.1"),
        .refused(
            "alg-hs256-empty-key", .signature, .fault(.idTokenHS256ByEmptyKey), rule: algorithmRule,
            source: "RFC 8725 section 3.1"),
        .refused("alg-hs256-secret", .signature, .fault(.idTokenHS256BySecret), rule: algorithmRule),
        .discouraged("alg-ps256", .signature, .fault(.idTokenPS256), rule: algorithmRule)
            .loosened { $0.allows(.ps256) },
        .discouraged(
            "alg-es256", .signature,
            .carrier("alg is ES256, by the published P-256 key, and the metadata lists ES256.") {
                $0.signingAlgorithm = .es256
            }, rule: algorithmRule
        ).loosened { $0.allows(.es256) },
        .refused("alg-rs512", .signature, .fault(.idTokenRS512), rule: algorithmRule)
            .loosened { $0.allows(.rs512) },
        .refused("key-unpublished", .keys, .fault(.idTokenStrangerKey), rule: signatureRule),
        .refused("key-id-unknown", .keys, .fault(.idTokenUnknownKeyID), rule: signatureRule),
        .refused(
            "key-in-token", .keys, .fault(.idTokenEmbeddedKey), rule: "A key that the token brings is not trusted.",
            source: "RFC 8725 section 3.10"),
        .refused(
            "key-by-url-in-token", .keys, .fault(.idTokenEmbeddedKeyURL),
            rule: "A URL that the token names is not requested.", source: "RFC 8725 section 3.10"),
        .refused(
            "token-two-parts", .signature, .fault(.idTokenTwoParts), rule: "The token is a JWS in compact form.",
            source: "RFC 7515 section 7.1"),
        .refused(
            "token-five-parts", .signature, .fault(.idTokenFiveParts),
            rule: "A token that is not decrypted is not accepted."),
        .discouraged(
            "token-64-kib", .signature, .fault(.idTokenHuge), rule: "Input has limits.",
            source: "RFC 8725 section 2.3"),
    ]

    static let keys: [KitCase] = [
        .refused(
            "key-1024-bits", .keys, .fault(.idTokenWeakKey), rule: "RSA keys have 2048 bits or more.",
            source: "RFC 7518 section 3.3"),
        .refused(
            "keys-without-id", .keys, .fault(.idTokenKeyIDAbsentMultiple),
            rule: "With several keys, the token must name its key.", source: core + " section 10.1"),
        .accepted(
            "single-key-without-id", .keys, .fault(.idTokenKeyIDAbsentSingle),
            rule: "A single key needs no kid.", source: core + " section 10.1"),
        .accepted(
            "keys-sharing-an-id", .keys, .fault(.keysSharedKeyID),
            rule: "Keys of another type or use are not candidates.", source: "RFC 7517 section 4.5"),
        .accepted(
            "keys-with-unknown-entries", .keys, .fault(.keysJunkEntries),
            rule: "Keys that are not understood should be ignored.", source: "RFC 7517 section 5"),
        .refused("keys-empty", .keys, .fault(.keysEmpty), rule: signatureRule),
        .refused("keys-failing", .keys, .fault(.keys500), rule: signatureRule),
        .discouraged(
            "keys-redirect", .keys, .fault(.keysRedirect), rule: "Redirects to other addresses are not followed.",
            source: "RFC 9700 section 4.12"),
        .discouraged("keys-2-mib", .keys, .fault(.keysHuge), rule: "Input has limits.", source: "RFC 8725 section 2.3"),
    ]
}
