extension CarrierSimulator.Fault {
    /// One sentence on what the carrier does.
    public var summary: String { Self.summaries[self] ?? "" }

    private static let summaries: [CarrierSimulator.Fault: String] =
        [authorization, claims, signature, portToken, token, serverInitiated, userInfo, resource, discovery, keys]
        .reduce(into: [:]) { all, group in all.merge(group) { first, _ in first } }

    private static let authorization: [Self: String] = [
        .authorizationDenied: "Approval at the authorization page ends with access_denied.",
        .authorizationServerError: "The authorization endpoint returns at once with server_error.",
        .authorizationOtherIssuer: "The authorization response's iss is another issuer's.",
        .authorizationMissingIssuer: "The authorization response has no iss, although the metadata promises one.",
        .authorizationOtherState: "The authorization response's state is not the one that was sent.",
        .authorizationMissingState: "The authorization response has no state.",
        .logoutOtherState: "Whoever comes back from the end-session endpoint has another state than was sent.",
        .logoutMissingState: "Whoever comes back from the end-session endpoint has no state.",
    ]

    private static let serverInitiated: [Self: String] = [
        .serverInitiated500: "The server-initiated endpoint answers 500.",
        .backchannelSlow: "The server-initiated endpoint waits before it answers.",
        .backchannelNotJSON: "The server-initiated endpoint answers with a page.",
        .backchannelRedirect: "The server-initiated endpoint redirects with 307.",
        .backchannelMissingID: "The server-initiated endpoint's answer has no auth_req_id.",
        .backchannelUserUnsupported: "The server-initiated endpoint answers user_unsupported.",
        .notificationBeforeResponse:
            "The user approves, and the relying party is told so, before its request is answered.",
        .notificationTwice: "The relying party is told everything twice.",
        .notificationWrongToken: "The notification bears a token that nobody gave.",
        .notificationOtherID: "The notification's auth_req_id is another.",
        .notificationOtherState: "The notification's state is not the one that was sent.",
        .notificationMissingIDToken: "The notification of an approval has no ID token.",
        .idTokenOtherRequestID: "The ID token of a notification names another auth_req_id.",
    ]

    private static let claims: [Self: String] = [
        .idTokenOtherIssuer: "iss is https://example.org/.",
        .idTokenNeighbourIssuer: "iss is another carrier of the simulator.",
        .idTokenMissingIssuer: "There is no iss.",
        .idTokenOtherAudience: "aud is another client.",
        .idTokenMissingAudience: "There is no aud.",
        .idTokenEmptyAudience: "aud is an empty array.",
        .idTokenExtraAudience: "aud is an array of the client and another, with no azp.",
        .idTokenAudienceArray: "aud is an array of the client alone: unusual, and right.",
        .idTokenMissingSubject: "There is no sub.",
        .idTokenEmptySubject: "sub is an empty string.",
        .idTokenLongSubject: "sub has 256 characters, one more than is allowed.",
        .idTokenMissingIssuedAt: "There is no iat.",
        .idTokenMissingExpiry: "There is no exp.",
        .idTokenTextExpiry: "exp is a string.",
        .idTokenExpired: "exp was six minutes ago.",
        .idTokenOld: "iat was a week ago; exp is yet to come.",
        .idTokenFuture: "iat is in ten minutes.",
        .idTokenNotYetValid: "nbf is in ten minutes.",
        .idTokenWrongNonce: "nonce is not the one that was sent.",
        .idTokenMissingNonce: "There is no nonce.",
        .idTokenWrongACR: "acr is a0, which nobody asked for.",
        .idTokenMissingACR: "There is no acr.",
        .idTokenOtherContext: "context is another text than the user was shown.",
        .idTokenMissingContext: "There is no context.",
        .idTokenOldAuthentication: "auth_time was a day ago.",
        .idTokenFutureAuthentication: "auth_time is in ten minutes.",
        .idTokenMissingAuthenticationTime: "There is no auth_time.",
        .idTokenWrongAccessTokenHash: "at_hash is that of another access token.",
        .idTokenOtherAuthorizedParty: "azp is another client.",
        .idTokenDuplicateClaim: "sub stands twice, with two values.",
        .idTokenUnsolicitedClaims: "There are claims nobody asked for, such as admin and groups; the rest is right.",
    ]

    private static let signature: [Self: String] = [
        .idTokenBadSignature: "Every byte of the signature is changed.",
        .idTokenNoSignature: "The third part is empty; the header is as usual.",
        .idTokenAlgNone: "alg is none, and there is no signature.",
        .idTokenAlgNoneMixedCase: "alg is nOnE, and there is no signature.",
        .idTokenHS256ByPublicKey: "alg is HS256, keyed by the public key's PEM text.",
        .idTokenHS256BySecret: "alg is HS256, keyed by the client secret.",
        .idTokenHS256ByEmptyKey: "alg is HS256, keyed by nothing.",
        .idTokenPS256: "alg is PS256, by the published RSA key.",
        .idTokenRS512: "alg is RS512, by the published RSA key.",
        .idTokenUnknownKeyID: "kid is not in the key set; the signature is genuine.",
        .idTokenStrangerKey: "kid is in the key set; the signature is by a key that is not.",
        .idTokenKeyIDAbsentSingle: "Neither the token nor the only key of the key set has a kid: right.",
        .idTokenKeyIDAbsentMultiple: "Neither the token nor any of three keys of its type has a kid.",
        .idTokenRotatedKey: "The carrier rotates its keys just before it signs: right, if the keys are fetched again.",
        .idTokenWeakKey: "The token is signed by an RSA key of 1024 bits that is in the key set.",
        .idTokenEmbeddedKeyURL: "The token is signed by a key that only the address in its jku offers.",
        .idTokenEmbeddedKey: "The token is signed by a key that only its own jwk header offers.",
        .idTokenCritical: "crit names a header extension that nobody knows.",
        .idTokenHuge: "A claim of 64 KiB makes the token too long.",
        .idTokenFiveParts: "The token has five parts, as an encrypted one has.",
        .idTokenTwoParts: "The token has two parts.",
    ]

    private static let portToken: [Self: String] = [
        .portTokenOtherIssuer: "The port token's iss is https://example.org.",
        .portTokenLookalikeIssuer: "The port token's iss begins like the former carrier's host, and is another's.",
        .portTokenMissingIssuer: "The port token has no iss.",
        .portTokenOtherSubject: "The port token's sub is nobody's.",
        .portTokenMissingSubject: "The port token has no sub.",
        .portTokenOtherAudience: "The port token's aud is another client.",
        .portTokenMissingAudience: "The port token has no aud.",
        .portTokenExtraAudience: "The port token's aud is an array of the client and another.",
        .portTokenOld: "The port token was issued 181 days ago.",
        .portTokenFuture: "The port token's iat is in ten minutes.",
        .portTokenMissingIssuedAt: "The port token has no iat.",
        .portTokenTextIssuedAt: "The port token's iat is a string.",
        .portTokenExpired: "The port token has an exp, which was six minutes ago.",
        .portTokenDuplicateClaim: "In the port token sub stands twice, with two values.",
        .portTokenHuge: "The port token is longer than 8 KiB.",
        .portTokenBadSignature: "Every byte of the port token's signature is changed.",
        .portTokenStrangerKey: "The port token is signed by a key that nobody publishes.",
        .portTokenPresentKey: "The port token is signed by the present carrier under the former one's kid.",
        .portTokenUnknownKeyID: "The port token's kid is not in the former carrier's key set.",
        .portTokenMissingKeyID: "The port token has no kid.",
        .portTokenMissingType: "The port token has no typ.",
        .portTokenOtherType: "The port token's typ is JWT.",
        .portTokenAlgNone: "The port token's alg is none, and there is no signature.",
        .portTokenHS256ByPublicKey: "The port token's alg is HS256, keyed by the former carrier's public key.",
        .portTokenEmbeddedKey: "The port token is signed by a key that only its own jwk header offers.",
        .portTokenCritical: "The port token's crit names a header extension that nobody knows.",
        .portTokenNotJWT: "The port token is a text that is no token.",
        .portTokenNotText: "aka is an object.",
        .portTokenNotInArray: "aka is the port token itself and no array: right, and seen in older texts.",
        .portTokenAmongJunk: "Broken port tokens stand before the good one: right, if they are passed over.",
        .portTokenAfterMany: "Eight broken port tokens stand before the good one, which nobody need look at.",
    ]

    private static let token: [Self: String] = [
        .token500: "The token endpoint answers 500 with a page.",
        .token503: "The token endpoint answers 503 with Retry-After: 7.",
        .tokenRedirect: "The token endpoint answers 307 to an address that must not be followed.",
        .tokenSlow: "The token endpoint answers after the carrier's delay.",
        .tokenNotJSON: "The token endpoint answers 200 with a page.",
        .tokenNotObject: "The token endpoint answers 200 with a JSON array.",
        .tokenEmpty: "The token endpoint answers 200 with no content.",
        .tokenTrailingGarbage: "More text follows the token endpoint's JSON.",
        .tokenDuplicateMember: "id_token stands twice in the token response, the second one empty.",
        .tokenHuge: "The token response is 2 MiB long.",
        .tokenInvalidClient: "The token endpoint answers 401 invalid_client.",
        .tokenInvalidGrant: "The token endpoint answers 400 invalid_grant.",
        .tokenTemporarilyUnavailable: "The token endpoint answers 400 temporarily_unavailable.",
        .tokenMissingIDToken: "The token response has no id_token.",
        .tokenMissingAccessToken: "The token response has no access_token.",
        .tokenWrongType: "token_type is mac.",
        .tokenTypeUppercase: "token_type is BEARER: right, for it is compared without regard to case.",
        .tokenMissingExpiresIn: "The token response has no expires_in: right, for it is optional.",
        .tokenReusableCode: "The token endpoint takes a code that was used before.",
    ]

    private static let userInfo: [Self: String] = [
        .userInfo401: "The userinfo endpoint answers 401 invalid_token.",
        .userInfo500: "The userinfo endpoint answers 500 with a page.",
        .userInfoSlow: "The userinfo endpoint answers after the carrier's delay.",
        .userInfoNotJSON: "The userinfo endpoint answers 200 with a page.",
        .userInfoRedirect: "The userinfo endpoint answers 302 to an address that must not be followed.",
        .userInfoWrongSubject: "Userinfo has another sub than the ID token.",
        .userInfoMissingSubject: "Userinfo has no sub.",
        .userInfoSubjectArray: "Userinfo's sub is an array that holds the right one.",
    ]

    private static let resource: [Self: String] = [
        .refreshInvalidGrant: "The token endpoint answers invalid_grant to every refresh token.",
        .resource401: "The resource is answered with 401, whatever the access token.",
        .resource500: "The resource is answered with 500 and a page.",
        .resourceSlow: "The resource is answered after the provider's delay.",
        .resourceNotJSON: "The resource is answered with 200 and a page.",
        .resourceScalar: "The resource is a JSON string, and neither an object nor an array.",
        .resourceRedirect: "The resource is answered with 302 to an address that must not be followed.",
        .resourceHuge: "The resource is 2 MiB long.",
    ]

    private static let discovery: [Self: String] = [
        .discovery500: "Discovery answers 500 with a page.",
        .discoverySlow: "Discovery answers after the carrier's delay.",
        .discoveryNotJSON: "Discovery answers 200 with a page.",
        .discoveryRedirect: "Discovery answers 302 to an address that must not be followed.",
        .discoveryErrorRedirectURI: "Discovery answers 200 with error and redirect_uri.",
        .discoveryErrorDescription: "Discovery answers 200 with error and error_description.",
        .discoveryMissingFields: "The metadata has neither token_endpoint nor jwks_uri.",
        .discoveryOtherIssuer: "The metadata's issuer is not the carrier's.",
        .discoveryRelativeURLs: "The metadata's endpoints are relative references.",
        .discoveryNoBackchannel: "The configuration has no server-initiated authorization endpoint.",
        .discoveryBareGrantType: "grant_types_supported is a string and not an array: wrong, and seen in the wild.",
    ]

    private static let keys: [Self: String] = [
        .keys500: "The key set's address answers 500 with a page.",
        .keysSlow: "The key set's address answers after the carrier's delay.",
        .keysNotJSON: "The key set's address answers 200 with a page.",
        .keysRedirect: "The key set's address answers 302 to an address that must not be followed.",
        .keysEmpty: "The key set has no keys.",
        .keysJunkEntries: "Broken and unknown keys stand around the good ones: right, if they are skipped.",
        .keysSharedKeyID:
            "Keys of other kinds and uses share the signing key's kid: right, if alg and use are looked at.",
        .keysHuge: "The key set is 2 MiB long.",
    ]
}
