extension CarrierSimulator {
    /// A defect of a carrier, or a correct but rare behaviour. Its raw value is its ``summary``, after its ``name`` and
    /// a colon where this is not that of the case with hyphens. The name begins with what the fault changes
    /// (`id-token-`, `token-`) and ends with the defect, which other parts may share: such a defect is described once,
    /// with these.
    ///
    /// Faults that change different things combine.
    public enum Fault: String, Sendable, CaseIterable {
        // The authorization response.
        case authorizationDenied = "Approval at the authorization page ends with access_denied."
        case authorizationServerError = "The authorization endpoint redirects back with server_error."
        case authorizationOtherIssuer = "The authorization response's iss is another issuer."
        case authorizationMissingIssuer = "The authorization response has no iss, although the metadata announces one."
        case authorizationOtherState = "The authorization response has another state."
        case authorizationMissingState = "The authorization response has no state."

        // Pushed authorization requests (RFC 9126).
        case parRequired = "The carrier requires pushed authorization requests: correct."
        case par500
        case parSlow
        case parNotJSON
        case parRedirect
        case parInvalidClient = "The pushed authorization request endpoint responds with 401 and invalid_client."
        case parInvalidRequest = "The pushed authorization request endpoint responds with 400 and invalid_request."
        case parStatus200 = "The response to a pushed authorization request has the status 200."
        case parMissingRequestURI = "The response to a pushed authorization request has no request_uri."
        case parControlCharacter = "The request_uri of a pushed authorization request has a line break."
        case parLongRequestURI = "The request_uri of a pushed authorization request has 513 characters."
        case parMissingExpiresIn = "The response to a pushed authorization request has no expires_in."
        case parExpired = "The expires_in of a pushed authorization request is 0."
        case parHuge = "The response to a pushed authorization request is 2 MiB long."

        // Access tokens that are bound to a key (DPoP, RFC 9449).
        case dpopSupported = "The carrier binds access tokens to the key of a DPoP proof: correct."
        case dpopRequired = "The carrier requires DPoP proofs, and its metadata says so: correct."
        case dpopNonce = "DPoP proofs must have a nonce that the carrier gave: correct."
        case dpopBearer = "The token endpoint responds to a DPoP proof with a Bearer token."
        case dpopEndlessNonces = "Every DPoP proof is refused with use_dpop_nonce and another nonce."
        case dpopLongNonce = "use_dpop_nonce comes with a nonce of 513 characters."
        case dpopInvalidNonce = "use_dpop_nonce comes with a nonce that has a space."

        // Request objects (RFC 9101), and signed authorization responses (JARM).
        case requestObjectRequired = "The carrier requires signed authorization requests: correct."
        case jarmUnsigned = "The authorization response has plain parameters, although a JWT was asked for."
        case jarmMixed = "The authorization response has plain parameters beside its JWT."
        case jarmAlgNone = "The alg of a signed authorization response is none, and there is no signature."
        case jarmOtherIssuer = "The iss of a signed authorization response is another issuer."
        case jarmMissingIssuer = "A signed authorization response has no iss."
        case jarmOtherAudience = "The aud of a signed authorization response is another client."
        case jarmMissingAudience = "A signed authorization response has no aud."
        case jarmExpired = "The exp of a signed authorization response was six minutes ago."
        case jarmMissingExpiry = "A signed authorization response has no exp."
        case jarmBadSignature = "Every byte of the signature of an authorization response is changed."

        // The client's authentication.
        case clientAssertionStrict =
            "Client assertions must have only the issuer as audience, and PS256, ES256 or EdDSA: correct."

        // The claims of the ID token.
        case idTokenOtherIssuer = "iss is https://example.org/."
        case idTokenNeighbourIssuer = "iss is another carrier of the simulator."
        case idTokenMissingIssuer = "There is no iss."
        case idTokenOtherAudience = "aud is another client."
        case idTokenMissingAudience = "There is no aud."
        case idTokenEmptyAudience = "aud is an empty array."
        case idTokenExtraAudience = "aud is an array of the client and another client, without azp."
        case idTokenAudienceArray = "aud is an array of only the client: rare and correct."
        case idTokenMissingSubject = "There is no sub."
        case idTokenEmptySubject = "sub is an empty string."
        case idTokenLongSubject = "sub has 256 characters, one more than allowed."
        case idTokenMissingIssuedAt = "There is no iat."
        case idTokenMissingExpiry = "There is no exp."
        case idTokenTextExpiry = "exp is a string."
        case idTokenExpired = "exp was six minutes ago, and iat eight minutes ago."
        case idTokenOld = "iat was a week ago; exp is in the future."
        case idTokenFuture = "iat is in ten minutes."
        case idTokenNotYetValid = "nbf is in ten minutes."
        case idTokenWrongNonce = "nonce is another."
        case idTokenMissingNonce = "There is no nonce."
        case idTokenWrongACR = "acr is a0, which was not requested."
        case idTokenMissingACR = "There is no acr."
        case idTokenOtherContext = "context is not the text that the user saw."
        case idTokenMissingContext = "There is no context."
        case idTokenOldAuthentication = "auth_time was a day ago."
        case idTokenFutureAuthentication = "auth_time is in ten minutes."
        case idTokenMissingAuthenticationTime = "There is no auth_time."
        case idTokenWrongAccessTokenHash = "id-token-wrong-at-hash: at_hash belongs to another access token."
        case idTokenOtherAuthorizedParty = "id-token-other-azp: azp is another client."
        case idTokenDuplicateClaim = "sub occurs twice, with two values."
        case idTokenUnsolicitedClaims = "There are claims that were not requested, such as admin and groups: correct."

        // The signature and the form of the ID token.
        case idTokenBadSignature = "Every byte of the signature is changed."
        case idTokenNoSignature = "The third part is empty; the header names an algorithm."
        case idTokenAlgNone = "alg is none, and there is no signature."
        case idTokenAlgNoneMixedCase = "alg is nOnE, and there is no signature."
        case idTokenHS256ByPublicKey = "alg is HS256, keyed by the public key's PEM text."
        case idTokenHS256BySecret = "alg is HS256, keyed by the client secret."
        case idTokenHS256ByEmptyKey = "alg is HS256, keyed by the empty string."
        case idTokenPS256 = "alg is PS256, by the published RSA key."
        case idTokenRS512 = "alg is RS512, by the published RSA key."
        case idTokenUnknownKeyID = "id-token-unknown-kid: kid is not in the key set; the signature is genuine."
        case idTokenStrangerKey = "kid is in the key set; the signature is by an unpublished key."
        case idTokenKeyIDAbsentSingle =
            "id-token-kid-absent-single: Neither the token nor the only key of the key set has a kid: correct."
        case idTokenKeyIDAbsentMultiple =
            "id-token-kid-absent-multiple: Neither the token nor any of three keys of its type has a kid."
        case idTokenRotatedKey = "The carrier rotates its keys just before it signs: correct, and requires a new fetch."
        case idTokenWeakKey = "The token is signed by an RSA key of 1024 bits that is in the key set."
        case idTokenEmbeddedKeyURL = "id-token-jku: The token is signed by a key that only its jku serves."
        case idTokenEmbeddedKey = "id-token-jwk: The token is signed by the key in its own jwk header."
        case idTokenCritical = "id-token-crit: crit names an unknown extension."
        case idTokenHuge = "A claim of 64 KiB makes the token too long."
        case idTokenFiveParts = "The token has five parts, like a JWE."
        case idTokenTwoParts = "The token has two parts."

        // The port token, and how the ID token shows it.
        case portTokenOtherIssuer
        case portTokenLookalikeIssuer = "The port token's iss begins with the former carrier's host name."
        case portTokenMissingIssuer
        case portTokenOtherSubject = "The port token's sub is unknown."
        case portTokenMissingSubject
        case portTokenOtherAudience
        case portTokenMissingAudience
        case portTokenExtraAudience
        case portTokenOld = "The port token was issued 181 days ago."
        case portTokenFuture
        case portTokenMissingIssuedAt
        case portTokenTextIssuedAt = "The port token's iat is a string."
        case portTokenExpired
        case portTokenDuplicateClaim
        case portTokenHuge = "The port token is longer than 8 KiB."
        case portTokenBadSignature
        case portTokenStrangerKey = "The port token is signed by an unpublished key."
        case portTokenPresentKey = "The port token is signed by the present carrier under the former one's kid."
        case portTokenUnknownKeyID = "port-token-unknown-kid"
        case portTokenMissingKeyID = "port-token-missing-kid: The port token has no kid."
        case portTokenMissingType = "The port token has no typ."
        case portTokenOtherType = "The port token's typ is JWT."
        case portTokenAlgNone
        case portTokenHS256ByPublicKey
        case portTokenEmbeddedKey = "port-token-jwk"
        case portTokenCritical = "port-token-crit"
        case portTokenNotJWT = "The port token is a string that is not a JWT."
        case portTokenNotText = "aka is an object."
        case portTokenNotInArray = "aka is a string and not an array: correct in older specifications."
        case portTokenAmongJunk = "Broken port tokens precede the good one: correct."
        case portTokenAfterMany = "Eight broken port tokens precede the good one, which may be ignored."

        // The token endpoint.
        case token500
        case token503 = "The token endpoint responds with 503 and Retry-After: 7."
        case tokenRedirect
        case tokenSlow
        case tokenNotJSON
        case tokenNotObject = "The token endpoint responds with 200 and a JSON array."
        case tokenEmpty = "The token endpoint responds with 200 and no content."
        case tokenTrailingGarbage = "More text follows the token endpoint's JSON."
        case tokenDuplicateMember = "id_token occurs twice in the token response; the second is empty."
        case tokenHuge = "The token response is 2 MiB long."
        case tokenInvalidClient = "The token endpoint responds with 401 and invalid_client."
        case tokenInvalidGrant = "The token endpoint responds with 400 and invalid_grant."
        case tokenTemporarilyUnavailable = "The token endpoint responds with 400 and temporarily_unavailable."
        case tokenMissingIDToken = "The token response has no id_token."
        case tokenMissingAccessToken = "The token response has no access_token."
        case tokenWrongType = "token_type is mac."
        case tokenTypeUppercase = "token_type is BEARER: correct, because its case does not matter."
        case tokenMissingExpiresIn = "The token response has no expires_in: correct, because it is optional."
        case tokenReusableCode = "The token endpoint accepts a used code."

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
        case notificationTwice = "The carrier sends the notification twice."
        case notificationWrongToken = "The notification has a wrong bearer token."
        case notificationOtherID = "The notification has another auth_req_id."
        case notificationOtherState = "The notification has another state."
        case notificationMissingIDToken = "The notification of an approval has no ID token."
        case notificationMissingToken = "The notification has no bearer token."
        case notificationLost = "A provider in the mode ping sends no notification."
        case notificationWithTokens = "A notification in the mode ping has tokens and an error besides the auth_req_id."
        case idTokenOtherRequestID =
            "id-token-other-auth-req-id: The notification's ID token names another auth_req_id."

        // Backchannel authentication at OpenID providers (CIBA): the endpoint, and the polls of its requests.
        case ciba500
        case cibaSlow
        case cibaNotJSON
        case cibaRedirect
        case cibaMissingID = "The provider's backchannel authentication response has no auth_req_id."
        case cibaMissingExpiresIn = "The provider's backchannel authentication response has no expires_in."
        case cibaLongInterval = "The interval of polls is 31 seconds: correct."
        case cibaUserCode = "Every user has the user code 2468, which requests must have: correct."
        case cibaPending = "The polls of a provider's request find it pending, whatever the user decided."
        case cibaSlowDown = "The first poll of a provider's request ends with slow_down."
        case cibaExpired = "Every poll of a provider's request ends with expired_token."
        case cibaDenied = "Every poll of a provider's request ends with access_denied."

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
        case refreshLate = "The token endpoint replaces the refresh token, and then waits for the carrier's delay."
        case resource401 = "The resource endpoint responds with 401 to every access token."
        case resource500
        case resourceSlow
        case resourceNotJSON
        case resourceScalar = "The resource is a JSON string."
        case resourceRedirect
        case resourceHuge = "The resource is 2 MiB long."

        // Discovery and the OpenID configuration.
        case discovery500
        case discoverySlow
        case discoveryNotJSON
        case discoveryRedirect
        case discoveryErrorRedirectURI = "The discovery endpoint responds with 200, error and redirect_uri."
        case discoveryErrorDescription = "The discovery endpoint responds with 200, error and error_description."
        case discoveryMissingFields = "The metadata has neither token_endpoint nor jwks_uri."
        case discoveryOtherIssuer = "The metadata's issuer is not the carrier's."
        case discoveryRelativeURLs = "discovery-relative-urls: The metadata's endpoints are relative references."
        case discoveryNoBackchannel =
            "discovery-no-server-initiated: The metadata has no server_initiated_authorization_endpoint."
        case discoveryNoPAR = "The metadata has no pushed_authorization_request_endpoint."
        case discoveryBareGrantType = "grant_types_supported is a string and not an array, as some providers send it."

        // Operators with CAMARA's APIs: the subscriber and the connection.
        case operatorConsentRequired = "The operator wants the user's consent: consent_required, or invalid_grant."
        case operatorNumberRecycled = "The numbers of all subscribers now belong to others, with another sub."
        case operatorNeighbourIssuer = "The authorization response's iss is another operator of the simulator."
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
        case operatorNumberMalformed = "Number Verification responds with a number that is not in E.164 form."
        case operatorTokenUsed = "operator-number-token-used: Number Verification refuses access tokens as used before."
        case operatorNotNetworkAuthenticated =
            """
            operator-number-not-network-authenticated: Number Verification says that the network did not \
            authenticate the user.
            """
        case operatorNumber500
        case operatorNumberNotJSON
        case operatorNumberRedirect
        // SIM Swap.
        case operatorSIMSwapped = "operator-sim-swap-swapped: SIM Swap says that the SIM was changed an hour ago."
        case operatorSIMSwapUnknown = "SIM Swap does not serve the number: SERVICE_NOT_APPLICABLE."
        // Telco Finder.
        case operatorFinderUnknown = "Telco Finder knows no operator of the number."
        case operatorFinderNeighbour = "Telco Finder names another operator than the number's."
        case operatorFinderOtherRoot = "Telco Finder names another apiRoot than the operator's."
        case operatorFinderOtherIssuer = "Telco Finder names another authProviderConfiguration than the operator's."
        case operatorFinder500
        case operatorFinderNotJSON

        // The end-session endpoint.
        case logoutOtherState = "The redirect from the end-session endpoint has another state."
        case logoutMissingState = "The redirect from the end-session endpoint has no state."

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
