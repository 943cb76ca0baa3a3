extension CarrierSimulator.Fault {
    /// One sentence that describes the fault.
    public var summary: String { Self.summaries[self] ?? endpointSummary ?? portTokenSummary ?? "" }

    /// The summary of a defect that ID tokens can have too.
    private var portTokenSummary: String? {
        guard rawValue.hasPrefix("port-token-") else { return nil }
        return Self(rawValue: "id-token-" + rawValue.dropFirst(11)).map { "Port token: \($0.summary)" }
    }

    /// The summary of a fault that every endpoint can have.
    private var endpointSummary: String? {
        guard let endpoint = Self.endpoints.first(where: { rawValue.hasPrefix($0.prefix) }) else { return nil }
        return Self.endpointDefects["\(rawValue.dropFirst(endpoint.prefix.count))"].map { "\(endpoint.name) \($0)" }
    }

    private static let endpoints: [(prefix: String, name: String)] = [
        ("token-", "The token endpoint"), ("userinfo-", "The userinfo endpoint"),
        ("server-initiated-", "The backchannel authentication endpoint"), ("resource-", "The resource endpoint"),
        ("discovery-", "The discovery endpoint"), ("jwks-", "The key set endpoint"),
        ("par-", "The pushed authorization request endpoint"), ("operator-number-", "Number Verification"),
        ("operator-sim-swap-", "SIM Swap"), ("operator-finder-", "Telco Finder"),
        ("ciba-", "The provider's backchannel authentication endpoint"),
        ("operator-ciba-", "The operator's backchannel authentication endpoint"),
    ]

    private static let endpointDefects = [
        "500": "responds with 500 and an HTML page.", "not-json": "responds with 200 and an HTML page.",
        "slow": "waits for the carrier's delay before it responds.",
        "redirect": "redirects to an address that must not be followed.",
    ]

    private static let summaries: [CarrierSimulator.Fault: String] =
        [
            authorization, pushedAuthorization, signedAuthorization, dpop, claims, signature, portToken, token,
            backchannel, userInfo, resource, discovery, keys, operators,
        ]
        .reduce(into: [:]) { all, group in all.merge(group) { first, _ in first } }

    private static let authorization: [Self: String] = [
        .authorizationDenied: "Approval at the authorization page ends with access_denied.",
        .authorizationServerError: "The authorization endpoint redirects back with server_error.",
        .authorizationOtherIssuer: "The authorization response's iss is another issuer.",
        .authorizationMissingIssuer: "The authorization response has no iss, although the metadata announces one.",
        .authorizationOtherState: "The authorization response has another state.",
        .authorizationMissingState: "The authorization response has no state.",
        .logoutOtherState: "The redirect from the end-session endpoint has another state.",
        .logoutMissingState: "The redirect from the end-session endpoint has no state.",
    ]

    private static let pushedAuthorization: [Self: String] = [
        .parRequired: "The carrier requires pushed authorization requests: correct.",
        .parInvalidClient: "The pushed authorization request endpoint responds with 401 and invalid_client.",
        .parInvalidRequest: "The pushed authorization request endpoint responds with 400 and invalid_request.",
        .parStatus200: "The response to a pushed authorization request has the status 200.",
        .parMissingRequestURI: "The response to a pushed authorization request has no request_uri.",
        .parControlCharacter: "The request_uri of a pushed authorization request has a line break.",
        .parLongRequestURI: "The request_uri of a pushed authorization request has 513 characters.",
        .parMissingExpiresIn: "The response to a pushed authorization request has no expires_in.",
        .parExpired: "The expires_in of a pushed authorization request is 0.",
        .parHuge: "The response to a pushed authorization request is 2 MiB long.",
    ]

    private static let dpop: [Self: String] = [
        .dpopSupported: "The carrier binds access tokens to the key of a DPoP proof: correct.",
        .dpopRequired: "The carrier requires DPoP proofs, and its metadata says so: correct.",
        .dpopNonce: "DPoP proofs must have a nonce that the carrier gave: correct.",
        .dpopBearer: "The token endpoint responds to a DPoP proof with a Bearer token.",
        .dpopEndlessNonces: "Every DPoP proof is refused with use_dpop_nonce and another nonce.",
        .dpopLongNonce: "use_dpop_nonce comes with a nonce of 513 characters.",
        .dpopInvalidNonce: "use_dpop_nonce comes with a nonce that has a space.",
    ]

    private static let signedAuthorization: [Self: String] = [
        .clientAssertionStrict:
            "Client assertions must have only the issuer as audience, and PS256, ES256 or EdDSA: correct.",
        .requestObjectRequired: "The carrier requires signed authorization requests: correct.",
        .jarmUnsigned: "The authorization response has plain parameters, although a JWT was asked for.",
        .jarmMixed: "The authorization response has plain parameters beside its JWT.",
        .jarmAlgNone: "The alg of a signed authorization response is none, and there is no signature.",
        .jarmOtherIssuer: "The iss of a signed authorization response is another issuer.",
        .jarmMissingIssuer: "A signed authorization response has no iss.",
        .jarmOtherAudience: "The aud of a signed authorization response is another client.",
        .jarmMissingAudience: "A signed authorization response has no aud.",
        .jarmExpired: "The exp of a signed authorization response was six minutes ago.",
        .jarmMissingExpiry: "A signed authorization response has no exp.",
        .jarmBadSignature: "Every byte of the signature of an authorization response is changed.",
    ]

    private static let backchannel: [Self: String] = [
        .backchannelMissingID: "The backchannel authentication response has no auth_req_id.",
        .backchannelUserUnsupported: "The backchannel authentication endpoint responds with user_unsupported.",
        .notificationBeforeResponse:
            "The carrier sends the notification before the backchannel authentication response.",
        .notificationTwice: "The carrier sends the notification twice.",
        .notificationWrongToken: "The notification has a wrong bearer token.",
        .notificationOtherID: "The notification has another auth_req_id.",
        .notificationOtherState: "The notification has another state.",
        .notificationMissingIDToken: "The notification of an approval has no ID token.",
        .notificationMissingToken: "The notification has no bearer token.",
        .notificationLost: "A provider in the mode ping sends no notification.",
        .notificationWithTokens: "A notification in the mode ping has tokens and an error besides the auth_req_id.",
        .cibaMissingID: "The provider's backchannel authentication response has no auth_req_id.",
        .cibaMissingExpiresIn: "The provider's backchannel authentication response has no expires_in.",
        .cibaLongInterval: "The interval of polls is 31 seconds: correct.",
        .cibaUserCode: "Every user has the user code 2468, which requests must have: correct.",
        .cibaPending: "The polls of a provider's request find it pending, whatever the user decided.",
        .cibaSlowDown: "The first poll of a provider's request ends with slow_down.",
        .cibaExpired: "Every poll of a provider's request ends with expired_token.",
        .cibaDenied: "Every poll of a provider's request ends with access_denied.",
        .idTokenOtherRequestID: "The notification's ID token names another auth_req_id.",
    ]

    private static let claims: [Self: String] = [
        .idTokenOtherIssuer: "iss is https://example.org/.",
        .idTokenNeighbourIssuer: "iss is another carrier of the simulator.",
        .idTokenMissingIssuer: "There is no iss.",
        .idTokenOtherAudience: "aud is another client.",
        .idTokenMissingAudience: "There is no aud.",
        .idTokenEmptyAudience: "aud is an empty array.",
        .idTokenExtraAudience: "aud is an array of the client and another client, without azp.",
        .idTokenAudienceArray: "aud is an array of only the client: rare and correct.",
        .idTokenMissingSubject: "There is no sub.",
        .idTokenEmptySubject: "sub is an empty string.",
        .idTokenLongSubject: "sub has 256 characters, one more than allowed.",
        .idTokenMissingIssuedAt: "There is no iat.",
        .idTokenMissingExpiry: "There is no exp.",
        .idTokenTextExpiry: "exp is a string.",
        .idTokenExpired: "exp was six minutes ago, and iat eight minutes ago.",
        .idTokenOld: "iat was a week ago; exp is in the future.",
        .idTokenFuture: "iat is in ten minutes.",
        .idTokenNotYetValid: "nbf is in ten minutes.",
        .idTokenWrongNonce: "nonce is another.",
        .idTokenMissingNonce: "There is no nonce.",
        .idTokenWrongACR: "acr is a0, which was not requested.",
        .idTokenMissingACR: "There is no acr.",
        .idTokenOtherContext: "context is not the text that the user saw.",
        .idTokenMissingContext: "There is no context.",
        .idTokenOldAuthentication: "auth_time was a day ago.",
        .idTokenFutureAuthentication: "auth_time is in ten minutes.",
        .idTokenMissingAuthenticationTime: "There is no auth_time.",
        .idTokenWrongAccessTokenHash: "at_hash belongs to another access token.",
        .idTokenOtherAuthorizedParty: "azp is another client.",
        .idTokenDuplicateClaim: "sub occurs twice, with two values.",
        .idTokenUnsolicitedClaims: "There are claims that were not requested, such as admin and groups: correct.",
    ]

    private static let signature: [Self: String] = [
        .idTokenBadSignature: "Every byte of the signature is changed.",
        .idTokenNoSignature: "The third part is empty; the header names an algorithm.",
        .idTokenAlgNone: "alg is none, and there is no signature.",
        .idTokenAlgNoneMixedCase: "alg is nOnE, and there is no signature.",
        .idTokenHS256ByPublicKey: "alg is HS256, keyed by the public key's PEM text.",
        .idTokenHS256BySecret: "alg is HS256, keyed by the client secret.",
        .idTokenHS256ByEmptyKey: "alg is HS256, keyed by the empty string.",
        .idTokenPS256: "alg is PS256, by the published RSA key.",
        .idTokenRS512: "alg is RS512, by the published RSA key.",
        .idTokenUnknownKeyID: "kid is not in the key set; the signature is genuine.",
        .idTokenStrangerKey: "kid is in the key set; the signature is by an unpublished key.",
        .idTokenKeyIDAbsentSingle: "Neither the token nor the only key of the key set has a kid: correct.",
        .idTokenKeyIDAbsentMultiple: "Neither the token nor any of three keys of its type has a kid.",
        .idTokenRotatedKey: "The carrier rotates its keys just before it signs: correct, and requires a new fetch.",
        .idTokenWeakKey: "The token is signed by an RSA key of 1024 bits that is in the key set.",
        .idTokenEmbeddedKeyURL: "The token is signed by a key that only its jku serves.",
        .idTokenEmbeddedKey: "The token is signed by the key in its own jwk header.",
        .idTokenCritical: "crit names an unknown extension.",
        .idTokenHuge: "A claim of 64 KiB makes the token too long.",
        .idTokenFiveParts: "The token has five parts, like a JWE.",
        .idTokenTwoParts: "The token has two parts.",
    ]

    private static let portToken: [Self: String] = [
        .portTokenLookalikeIssuer: "The port token's iss begins with the former carrier's host name.",
        .portTokenOtherSubject: "The port token's sub is unknown.",
        .portTokenOld: "The port token was issued 181 days ago.",
        .portTokenTextIssuedAt: "The port token's iat is a string.",
        .portTokenHuge: "The port token is longer than 8 KiB.",
        .portTokenStrangerKey: "The port token is signed by an unpublished key.",
        .portTokenPresentKey: "The port token is signed by the present carrier under the former one's kid.",
        .portTokenMissingKeyID: "The port token has no kid.",
        .portTokenMissingType: "The port token has no typ.",
        .portTokenOtherType: "The port token's typ is JWT.",
        .portTokenNotJWT: "The port token is a string that is not a JWT.",
        .portTokenNotText: "aka is an object.",
        .portTokenNotInArray: "aka is a string and not an array: correct in older specifications.",
        .portTokenAmongJunk: "Broken port tokens precede the good one: correct.",
        .portTokenAfterMany: "Eight broken port tokens precede the good one, which may be ignored.",
    ]

    private static let token: [Self: String] = [
        .token503: "The token endpoint responds with 503 and Retry-After: 7.",
        .tokenNotObject: "The token endpoint responds with 200 and a JSON array.",
        .tokenEmpty: "The token endpoint responds with 200 and no content.",
        .tokenTrailingGarbage: "More text follows the token endpoint's JSON.",
        .tokenDuplicateMember: "id_token occurs twice in the token response; the second is empty.",
        .tokenHuge: "The token response is 2 MiB long.",
        .tokenInvalidClient: "The token endpoint responds with 401 and invalid_client.",
        .tokenInvalidGrant: "The token endpoint responds with 400 and invalid_grant.",
        .tokenTemporarilyUnavailable: "The token endpoint responds with 400 and temporarily_unavailable.",
        .tokenMissingIDToken: "The token response has no id_token.",
        .tokenMissingAccessToken: "The token response has no access_token.",
        .tokenWrongType: "token_type is mac.",
        .tokenTypeUppercase: "token_type is BEARER: correct, because its case does not matter.",
        .tokenMissingExpiresIn: "The token response has no expires_in: correct, because it is optional.",
        .tokenReusableCode: "The token endpoint accepts a used code.",
    ]

    private static let userInfo: [Self: String] = [
        .userInfo401: "The userinfo endpoint responds with 401 and invalid_token.",
        .userInfoWrongSubject: "The userinfo response's sub is not that of the ID token.",
        .userInfoMissingSubject: "The userinfo response has no sub.",
        .userInfoSubjectArray: "The userinfo response's sub is an array of the right one.",
        .userInfoSigned: "The userinfo response is a signed JWT: correct.",
    ]

    private static let resource: [Self: String] = [
        .refreshInvalidGrant: "The token endpoint refuses every refresh token with invalid_grant.",
        .refreshLate: "The token endpoint replaces the refresh token, and then waits for the carrier's delay.",
        .resource401: "The resource endpoint responds with 401 to every access token.",
        .resourceScalar: "The resource is a JSON string.",
        .resourceHuge: "The resource is 2 MiB long.",
    ]

    private static let discovery: [Self: String] = [
        .discoveryErrorRedirectURI: "The discovery endpoint responds with 200, error and redirect_uri.",
        .discoveryErrorDescription: "The discovery endpoint responds with 200, error and error_description.",
        .discoveryMissingFields: "The metadata has neither token_endpoint nor jwks_uri.",
        .discoveryOtherIssuer: "The metadata's issuer is not the carrier's.",
        .discoveryRelativeURLs: "The metadata's endpoints are relative references.",
        .discoveryNoBackchannel: "The metadata has no server_initiated_authorization_endpoint.",
        .discoveryNoPAR: "The metadata has no pushed_authorization_request_endpoint.",
        .discoveryBareGrantType: "grant_types_supported is a string and not an array, as some providers send it.",
    ]

    private static let operators: [Self: String] = [
        .operatorNotOnNetwork: "The operator cannot authenticate the device by its network: login_required.",
        .operatorConsentRequired: "The operator wants the user's consent: consent_required, or invalid_grant.",
        .operatorNumberRecycled: "The numbers of all subscribers now belong to others, with another sub.",
        .operatorNeighbourIssuer: "The authorization response's iss is another operator of the simulator.",
        .operatorBackchannelPending: "Backchannel authentication requests stay pending until they expire.",
        .operatorBackchannelSlowDown: "The first poll of a backchannel authentication request ends with slow_down.",
        .operatorBackchannelExpired: "Every poll of a backchannel authentication request ends with expired_token.",
        .operatorBackchannelDenied: "Every poll of a backchannel authentication request ends with access_denied.",
        .operatorWrongAudience: "The operator's APIs refuse access tokens as those of another audience.",
        .operatorQuotaExceeded: "The operator's APIs respond with 429 and QUOTA_EXCEEDED.",
        .operatorOtherCorrelator: "The operator's APIs respond with another x-correlator.",
        .operatorWrongNumber: "Number Verification knows another number, and verifies none.",
        .operatorNumberMalformed: "Number Verification responds with a number that is not in E.164 form.",
        .operatorTokenUsed: "Number Verification refuses access tokens as used before.",
        .operatorNotNetworkAuthenticated: "Number Verification says that the network did not authenticate the user.",
        .operatorSIMSwapped: "SIM Swap says that the SIM was changed an hour ago.",
        .operatorSIMSwapUnknown: "SIM Swap does not serve the number: SERVICE_NOT_APPLICABLE.",
        .operatorSIMSwapOutOfRange: "SIM Swap does not know as long a period: OUT_OF_RANGE.",
        .operatorFinderUnknown: "Telco Finder knows no operator of the number.",
        .operatorFinderNeighbour: "Telco Finder names another operator than the number's.",
        .operatorFinderOtherRoot: "Telco Finder names another apiRoot than the operator's.",
        .operatorFinderOtherIssuer: "Telco Finder names another authProviderConfiguration than the operator's.",
    ]

    private static let keys: [Self: String] = [
        .keysEmpty: "The key set has no keys.",
        .keysJunkEntries: "Broken and unknown keys surround the good ones: correct, and to be skipped.",
        .keysSharedKeyID:
            "Keys of other types and uses share the signing key's kid: correct, because alg and use differ.",
        .keysHuge: "The key set is 2 MiB long.",
    ]
}
