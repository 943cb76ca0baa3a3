extension CarrierSimulator {
    /// A defect of a carrier, or a correct but rare behaviour. Its raw value is its ``name``, a colon and its
    /// ``summary``. The name begins with what the fault changes (`id-token-`, `token-`) and ends with the defect, which
    /// other parts may share: such a defect is described once, below.
    ///
    /// Faults that change different things combine.
    public enum Fault: String, Sendable, CaseIterable {
        // The authorization response.
        case authorizationDenied = "authorization-denied: Approval at the authorization page ends with access_denied."
        case authorizationServerError =
            "authorization-server-error: The authorization endpoint redirects back with server_error."
        case authorizationOtherIssuer =
            "authorization-other-issuer: The authorization response's iss is another issuer."
        case authorizationMissingIssuer =
            "authorization-missing-issuer: The authorization response has no iss, although the metadata announces one."
        case authorizationOtherState = "authorization-other-state: The authorization response has another state."
        case authorizationMissingState = "authorization-missing-state: The authorization response has no state."

        // Pushed authorization requests (RFC 9126).
        case parRequired = "par-required: The carrier requires pushed authorization requests: correct."
        case par500 = "par-500"
        case parSlow = "par-slow"
        case parNotJSON = "par-not-json"
        case parRedirect = "par-redirect"
        case parInvalidClient =
            "par-invalid-client: The pushed authorization request endpoint responds with 401 and invalid_client."
        case parInvalidRequest =
            "par-invalid-request: The pushed authorization request endpoint responds with 400 and invalid_request."
        case parStatus200 = "par-status-200: The response to a pushed authorization request has the status 200."
        case parMissingRequestURI =
            "par-missing-request-uri: The response to a pushed authorization request has no request_uri."
        case parControlCharacter =
            "par-control-character: The request_uri of a pushed authorization request has a line break."
        case parLongRequestURI =
            "par-long-request-uri: The request_uri of a pushed authorization request has 513 characters."
        case parMissingExpiresIn =
            "par-missing-expires-in: The response to a pushed authorization request has no expires_in."
        case parExpired = "par-expired: The expires_in of a pushed authorization request is 0."
        case parHuge = "par-huge: The response to a pushed authorization request is 2 MiB long."

        // Access tokens that are bound to a key (DPoP, RFC 9449).
        case dpopSupported = "dpop-supported: The carrier binds access tokens to the key of a DPoP proof: correct."
        case dpopRequired = "dpop-required: The carrier requires DPoP proofs, and its metadata says so: correct."
        case dpopNonce = "dpop-nonce: DPoP proofs must have a nonce that the carrier gave: correct."
        case dpopBearer = "dpop-bearer: The token endpoint responds to a DPoP proof with a Bearer token."
        case dpopEndlessNonces =
            "dpop-endless-nonces: Every DPoP proof is refused with use_dpop_nonce and another nonce."
        case dpopLongNonce = "dpop-long-nonce: use_dpop_nonce comes with a nonce of 513 characters."
        case dpopInvalidNonce = "dpop-invalid-nonce: use_dpop_nonce comes with a nonce that has a space."

        // Request objects (RFC 9101), and signed authorization responses (JARM).
        case requestObjectRequired =
            "request-object-required: The carrier requires signed authorization requests: correct."
        case jarmUnsigned =
            "jarm-unsigned: The authorization response has plain parameters, although a JWT was asked for."
        case jarmMixed = "jarm-mixed: The authorization response has plain parameters beside its JWT."
        case jarmAlgNone =
            "jarm-alg-none: The alg of a signed authorization response is none, and there is no signature."
        case jarmOtherIssuer = "jarm-other-issuer: The iss of a signed authorization response is another issuer."
        case jarmMissingIssuer = "jarm-missing-issuer: A signed authorization response has no iss."
        case jarmOtherAudience = "jarm-other-audience: The aud of a signed authorization response is another client."
        case jarmMissingAudience = "jarm-missing-audience: A signed authorization response has no aud."
        case jarmExpired = "jarm-expired: The exp of a signed authorization response was six minutes ago."
        case jarmMissingExpiry = "jarm-missing-expiry: A signed authorization response has no exp."
        case jarmBadSignature =
            "jarm-bad-signature: Every byte of the signature of an authorization response is changed."

        // The client's authentication.
        case clientAssertionStrict =
            """
            client-assertion-strict: Client assertions must have only the issuer as audience, and PS256, ES256 or \
            EdDSA: correct.
            """

        // The claims of the ID token.
        case idTokenOtherIssuer = "id-token-other-issuer: iss is https://example.org/."
        case idTokenNeighbourIssuer = "id-token-neighbour-issuer: iss is another carrier of the simulator."
        case idTokenMissingIssuer = "id-token-missing-issuer: There is no iss."
        case idTokenOtherAudience = "id-token-other-audience: aud is another client."
        case idTokenMissingAudience = "id-token-missing-audience: There is no aud."
        case idTokenEmptyAudience = "id-token-empty-audience: aud is an empty array."
        case idTokenExtraAudience =
            "id-token-extra-audience: aud is an array of the client and another client, without azp."
        case idTokenAudienceArray = "id-token-audience-array: aud is an array of only the client: rare and correct."
        case idTokenMissingSubject = "id-token-missing-subject: There is no sub."
        case idTokenEmptySubject = "id-token-empty-subject: sub is an empty string."
        case idTokenLongSubject = "id-token-long-subject: sub has 256 characters, one more than allowed."
        case idTokenMissingIssuedAt = "id-token-missing-issued-at: There is no iat."
        case idTokenMissingExpiry = "id-token-missing-expiry: There is no exp."
        case idTokenTextExpiry = "id-token-text-expiry: exp is a string."
        case idTokenExpired = "id-token-expired: exp was six minutes ago, and iat eight minutes ago."
        case idTokenOld = "id-token-old: iat was a week ago; exp is in the future."
        case idTokenFuture = "id-token-future: iat is in ten minutes."
        case idTokenNotYetValid = "id-token-not-yet-valid: nbf is in ten minutes."
        case idTokenWrongNonce = "id-token-wrong-nonce: nonce is another."
        case idTokenMissingNonce = "id-token-missing-nonce: There is no nonce."
        case idTokenWrongACR = "id-token-wrong-acr: acr is a0, which was not requested."
        case idTokenMissingACR = "id-token-missing-acr: There is no acr."
        case idTokenOtherContext = "id-token-other-context: context is not the text that the user saw."
        case idTokenMissingContext = "id-token-missing-context: There is no context."
        case idTokenOldAuthentication = "id-token-old-authentication: auth_time was a day ago."
        case idTokenFutureAuthentication = "id-token-future-authentication: auth_time is in ten minutes."
        case idTokenMissingAuthenticationTime = "id-token-missing-authentication-time: There is no auth_time."
        case idTokenWrongAccessTokenHash = "id-token-wrong-at-hash: at_hash belongs to another access token."
        case idTokenOtherAuthorizedParty = "id-token-other-azp: azp is another client."
        case idTokenDuplicateClaim = "id-token-duplicate-claim: sub occurs twice, with two values."
        case idTokenUnsolicitedClaims =
            "id-token-unsolicited-claims: There are claims that were not requested, such as admin and groups: correct."

        // The signature and the form of the ID token.
        case idTokenBadSignature = "id-token-bad-signature: Every byte of the signature is changed."
        case idTokenNoSignature = "id-token-no-signature: The third part is empty; the header names an algorithm."
        case idTokenAlgNone = "id-token-alg-none: alg is none, and there is no signature."
        case idTokenAlgNoneMixedCase = "id-token-alg-none-mixed-case: alg is nOnE, and there is no signature."
        case idTokenHS256ByPublicKey = "id-token-hs256-by-public-key: alg is HS256, keyed by the public key's PEM text."
        case idTokenHS256BySecret = "id-token-hs256-by-secret: alg is HS256, keyed by the client secret."
        case idTokenHS256ByEmptyKey = "id-token-hs256-by-empty-key: alg is HS256, keyed by the empty string."
        case idTokenPS256 = "id-token-ps256: alg is PS256, by the published RSA key."
        case idTokenRS512 = "id-token-rs512: alg is RS512, by the published RSA key."
        case idTokenUnknownKeyID = "id-token-unknown-kid: kid is not in the key set; the signature is genuine."
        case idTokenStrangerKey =
            "id-token-stranger-key: kid is in the key set; the signature is by an unpublished key."
        case idTokenKeyIDAbsentSingle =
            "id-token-kid-absent-single: Neither the token nor the only key of the key set has a kid: correct."
        case idTokenKeyIDAbsentMultiple =
            "id-token-kid-absent-multiple: Neither the token nor any of three keys of its type has a kid."
        case idTokenRotatedKey =
            """
            id-token-rotated-key: The carrier rotates its keys just before it signs: correct, and requires a new \
            fetch.
            """
        case idTokenWeakKey =
            "id-token-weak-key: The token is signed by an RSA key of 1024 bits that is in the key set."
        case idTokenEmbeddedKeyURL = "id-token-jku: The token is signed by a key that only its jku serves."
        case idTokenEmbeddedKey = "id-token-jwk: The token is signed by the key in its own jwk header."
        case idTokenCritical = "id-token-crit: crit names an unknown extension."
        case idTokenHuge = "id-token-huge: A claim of 64 KiB makes the token too long."
        case idTokenFiveParts = "id-token-five-parts: The token has five parts, like a JWE."
        case idTokenTwoParts = "id-token-two-parts: The token has two parts."

        // The port token, and how the ID token shows it.
        case portTokenOtherIssuer = "port-token-other-issuer"
        case portTokenLookalikeIssuer =
            "port-token-lookalike-issuer: The port token's iss begins with the former carrier's host name."
        case portTokenMissingIssuer = "port-token-missing-issuer"
        case portTokenOtherSubject = "port-token-other-subject: The port token's sub is unknown."
        case portTokenMissingSubject = "port-token-missing-subject"
        case portTokenOtherAudience = "port-token-other-audience"
        case portTokenMissingAudience = "port-token-missing-audience"
        case portTokenExtraAudience = "port-token-extra-audience"
        case portTokenOld = "port-token-old: The port token was issued 181 days ago."
        case portTokenFuture = "port-token-future"
        case portTokenMissingIssuedAt = "port-token-missing-issued-at"
        case portTokenTextIssuedAt = "port-token-text-issued-at: The port token's iat is a string."
        case portTokenExpired = "port-token-expired"
        case portTokenDuplicateClaim = "port-token-duplicate-claim"
        case portTokenHuge = "port-token-huge: The port token is longer than 8 KiB."
        case portTokenBadSignature = "port-token-bad-signature"
        case portTokenStrangerKey = "port-token-stranger-key: The port token is signed by an unpublished key."
        case portTokenPresentKey =
            "port-token-present-key: The port token is signed by the present carrier under the former one's kid."
        case portTokenUnknownKeyID = "port-token-unknown-kid"
        case portTokenMissingKeyID = "port-token-missing-kid: The port token has no kid."
        case portTokenMissingType = "port-token-missing-type: The port token has no typ."
        case portTokenOtherType = "port-token-other-type: The port token's typ is JWT."
        case portTokenAlgNone = "port-token-alg-none"
        case portTokenHS256ByPublicKey = "port-token-hs256-by-public-key"
        case portTokenEmbeddedKey = "port-token-jwk"
        case portTokenCritical = "port-token-crit"
        case portTokenNotJWT = "port-token-not-jwt: The port token is a string that is not a JWT."
        case portTokenNotText = "port-token-not-text: aka is an object."
        case portTokenNotInArray =
            "port-token-not-in-array: aka is a string and not an array: correct in older specifications."
        case portTokenAmongJunk = "port-token-among-junk: Broken port tokens precede the good one: correct."
        case portTokenAfterMany =
            "port-token-after-many: Eight broken port tokens precede the good one, which may be ignored."

        // The token endpoint.
        case token500 = "token-500"
        case token503 = "token-503: The token endpoint responds with 503 and Retry-After: 7."
        case tokenRedirect = "token-redirect"
        case tokenSlow = "token-slow"
        case tokenNotJSON = "token-not-json"
        case tokenNotObject = "token-not-object: The token endpoint responds with 200 and a JSON array."
        case tokenEmpty = "token-empty: The token endpoint responds with 200 and no content."
        case tokenTrailingGarbage = "token-trailing-garbage: More text follows the token endpoint's JSON."
        case tokenDuplicateMember =
            "token-duplicate-member: id_token occurs twice in the token response; the second is empty."
        case tokenHuge = "token-huge: The token response is 2 MiB long."
        case tokenInvalidClient = "token-invalid-client: The token endpoint responds with 401 and invalid_client."
        case tokenInvalidGrant = "token-invalid-grant: The token endpoint responds with 400 and invalid_grant."
        case tokenTemporarilyUnavailable =
            "token-temporarily-unavailable: The token endpoint responds with 400 and temporarily_unavailable."
        case tokenMissingIDToken = "token-missing-id-token: The token response has no id_token."
        case tokenMissingAccessToken = "token-missing-access-token: The token response has no access_token."
        case tokenWrongType = "token-wrong-type: token_type is mac."
        case tokenTypeUppercase =
            "token-type-uppercase: token_type is BEARER: correct, because its case does not matter."
        case tokenMissingExpiresIn =
            "token-missing-expires-in: The token response has no expires_in: correct, because it is optional."
        case tokenReusableCode = "token-reusable-code: The token endpoint accepts a used code."

        // The backchannel authentication endpoint, and the notification of the relying party.
        case backchannel500 = "server-initiated-500"
        case backchannelSlow = "server-initiated-slow"
        case backchannelNotJSON = "server-initiated-not-json"
        case backchannelRedirect = "server-initiated-redirect"
        case backchannelMissingID =
            "server-initiated-missing-id: The backchannel authentication response has no auth_req_id."
        case backchannelUserUnsupported =
            "server-initiated-user-unsupported: The backchannel authentication endpoint responds with user_unsupported."
        case notificationBeforeResponse =
            """
            notification-before-answer: The carrier sends the notification before the backchannel authentication \
            response.
            """
        case notificationTwice = "notification-twice: The carrier sends the notification twice."
        case notificationWrongToken = "notification-wrong-token: The notification has a wrong bearer token."
        case notificationOtherID = "notification-other-id: The notification has another auth_req_id."
        case notificationOtherState = "notification-other-state: The notification has another state."
        case notificationMissingIDToken =
            "notification-missing-id-token: The notification of an approval has no ID token."
        case notificationMissingToken = "notification-missing-token: The notification has no bearer token."
        case notificationLost = "notification-lost: A provider in the mode ping sends no notification."
        case notificationWithTokens =
            "notification-with-tokens: A notification in the mode ping has tokens and an error besides the auth_req_id."
        case idTokenOtherRequestID =
            "id-token-other-auth-req-id: The notification's ID token names another auth_req_id."

        // Backchannel authentication at OpenID providers (CIBA): the endpoint, and the polls of its requests.
        case ciba500 = "ciba-500"
        case cibaSlow = "ciba-slow"
        case cibaNotJSON = "ciba-not-json"
        case cibaRedirect = "ciba-redirect"
        case cibaMissingID = "ciba-missing-id: The provider's backchannel authentication response has no auth_req_id."
        case cibaMissingExpiresIn =
            "ciba-missing-expires-in: The provider's backchannel authentication response has no expires_in."
        case cibaLongInterval = "ciba-long-interval: The interval of polls is 31 seconds: correct."
        case cibaUserCode = "ciba-user-code: Every user has the user code 2468, which requests must have: correct."
        case cibaPending = "ciba-pending: The polls of a provider's request find it pending, whatever the user decided."
        case cibaSlowDown = "ciba-slow-down: The first poll of a provider's request ends with slow_down."
        case cibaExpired = "ciba-expired: Every poll of a provider's request ends with expired_token."
        case cibaDenied = "ciba-denied: Every poll of a provider's request ends with access_denied."

        // The userinfo endpoint.
        case userInfo401 = "userinfo-401: The userinfo endpoint responds with 401 and invalid_token."
        case userInfo500 = "userinfo-500"
        case userInfoSlow = "userinfo-slow"
        case userInfoNotJSON = "userinfo-not-json"
        case userInfoRedirect = "userinfo-redirect"
        case userInfoWrongSubject = "userinfo-wrong-subject: The userinfo response's sub is not that of the ID token."
        case userInfoMissingSubject = "userinfo-missing-subject: The userinfo response has no sub."
        case userInfoSubjectArray = "userinfo-subject-array: The userinfo response's sub is an array of the right one."
        case userInfoSigned = "userinfo-signed: The userinfo response is a signed JWT: correct."

        // Refreshes and resources.
        case refreshLate =
            "refresh-late: The token endpoint replaces the refresh token, and then waits for the carrier's delay."
        case resource401 = "resource-401: The resource endpoint responds with 401 to every access token."
        case resource500 = "resource-500"
        case resourceSlow = "resource-slow"
        case resourceNotJSON = "resource-not-json"
        case resourceScalar = "resource-scalar: The resource is a JSON string."
        case resourceRedirect = "resource-redirect"
        case resourceHuge = "resource-huge: The resource is 2 MiB long."

        // Discovery and the OpenID configuration.
        case discovery500 = "discovery-500"
        case discoverySlow = "discovery-slow"
        case discoveryNotJSON = "discovery-not-json"
        case discoveryRedirect = "discovery-redirect"
        case discoveryErrorRedirectURI =
            "discovery-error-redirect-uri: The discovery endpoint responds with 200, error and redirect_uri."
        case discoveryErrorDescription =
            "discovery-error-description: The discovery endpoint responds with 200, error and error_description."
        case discoveryMissingFields = "discovery-missing-fields: The metadata has neither token_endpoint nor jwks_uri."
        case discoveryOtherIssuer = "discovery-other-issuer: The metadata's issuer is not the carrier's."
        case discoveryRelativeURLs = "discovery-relative-urls: The metadata's endpoints are relative references."
        case discoveryNoBackchannel =
            "discovery-no-server-initiated: The metadata has no server_initiated_authorization_endpoint."
        case discoveryNoPAR = "discovery-no-par: The metadata has no pushed_authorization_request_endpoint."
        case discoveryBareGrantType =
            "discovery-bare-grant-type: grant_types_supported is a string and not an array, as some providers send it."

        // Operators with CAMARA's APIs: the subscriber and the connection.
        case operatorConsentRequired =
            "operator-consent-required: The operator wants the user's consent: consent_required, or invalid_grant."
        case operatorNumberRecycled =
            "operator-number-recycled: The numbers of all subscribers now belong to others, with another sub."
        case operatorNeighbourIssuer =
            "operator-neighbour-issuer: The authorization response's iss is another operator of the simulator."
        // Backchannel authentication requests at operators.
        case operatorBackchannelExpired =
            "operator-ciba-expired: Every poll of a backchannel authentication request ends with expired_token."
        case operatorBackchannelDenied =
            "operator-ciba-denied: Every poll of a backchannel authentication request ends with access_denied."
        // All APIs of operators.
        case operatorWrongAudience =
            "operator-api-wrong-audience: The operator's APIs refuse access tokens as those of another audience."
        case operatorQuotaExceeded =
            "operator-api-quota-exceeded: The operator's APIs respond with 429 and QUOTA_EXCEEDED."
        // Number Verification.
        case operatorWrongNumber = "operator-number-wrong: Number Verification knows another number, and verifies none."
        case operatorNumberMalformed =
            "operator-number-malformed: Number Verification responds with a number that is not in E.164 form."
        case operatorTokenUsed = "operator-number-token-used: Number Verification refuses access tokens as used before."
        case operatorNotNetworkAuthenticated =
            """
            operator-number-not-network-authenticated: Number Verification says that the network did not \
            authenticate the user.
            """
        case operatorNumber500 = "operator-number-500"
        case operatorNumberNotJSON = "operator-number-not-json"
        case operatorNumberRedirect = "operator-number-redirect"
        // SIM Swap.
        case operatorSIMSwapped = "operator-sim-swap-swapped: SIM Swap says that the SIM was changed an hour ago."
        case operatorSIMSwapUnknown =
            "operator-sim-swap-unknown: SIM Swap does not serve the number: SERVICE_NOT_APPLICABLE."
        // Telco Finder.
        case operatorFinderUnknown = "operator-finder-unknown: Telco Finder knows no operator of the number."
        case operatorFinderNeighbour =
            "operator-finder-neighbour: Telco Finder names another operator than the number's."
        case operatorFinderOtherRoot =
            "operator-finder-other-root: Telco Finder names another apiRoot than the operator's."
        case operatorFinderOtherIssuer =
            "operator-finder-other-issuer: Telco Finder names another authProviderConfiguration than the operator's."
        case operatorFinder500 = "operator-finder-500"
        case operatorFinderNotJSON = "operator-finder-not-json"

        // The end-session endpoint.
        case logoutOtherState = "logout-other-state: The redirect from the end-session endpoint has another state."
        case logoutMissingState = "logout-missing-state: The redirect from the end-session endpoint has no state."

        // The key set.
        case keys500 = "jwks-500"
        case keysSlow = "jwks-slow"
        case keysNotJSON = "jwks-not-json"
        case keysRedirect = "jwks-redirect"
        case keysEmpty = "jwks-empty: The key set has no keys."
        case keysJunkEntries =
            "jwks-junk-entries: Broken and unknown keys surround the good ones: correct, and to be skipped."
        case keysSharedKeyID =
            """
            jwks-shared-kid: Keys of other types and uses share the signing key's kid: correct, because alg and use \
            differ.
            """
        case keysHuge = "jwks-huge: The key set is 2 MiB long."
    }
}
