import OpenIDConnect
import Primitives
import SignIn

/// The names and values that a capsule shows as they are: those that specifications define. Everything else is
/// configured, or becomes a pseudonym.
enum CapsuleVocabulary {
    /// Names of members of JSON objects, header parameters and claims: the compared ones and these.
    static let names = comparedNames.union(
        """
        sub exp iat nbf jti auth_time nonce at_hash c_hash s_hash sid events auth_req_id context aka kid zip epk \
        apu apv x5t x5u jku jwk x5c keys n e x y d access_token expires_in refresh_token id_token \
        error_description error_uri interval client_id name given_name family_name middle_name nickname \
        preferred_username profile picture website email email_verified gender birthdate zoneinfo locale \
        phone_number phone_number_verified address updated_at formatted street_address locality region postal_code \
        country value registration_endpoint introspection_endpoint revocation_endpoint \
        backchannel_authentication_endpoint device_authorization_endpoint mtls_endpoint_aliases config \
        redirect_uri userinfo_signing_alg_values_supported claims_supported \
        authorization_response_iss_parameter_supported backchannel_logout_supported \
        require_pushed_authorization_requests status code message request_uri devicePhoneNumber \
        devicePhoneNumberVerified swapped require_signed_request_object dpop_bound_access_tokens \
        tls_client_certificate_bound_access_tokens backchannel_user_code_parameter_supported \
        urn:openid:params:jwt:claim:auth_req_id state operatorId apiRoot authProviderConfiguration \
        http://schemas.openid.net/event/backchannel-logout
        """.split(ascii: " ").map(String.init))

    /// The members whose value is shown if it is a known one.
    static let comparedNames = Set(
        """
        iss aud azp typ alg crit b64 cty enc kty use key_ops crv token_type scope error acr amr issuer \
        authorization_endpoint token_endpoint userinfo_endpoint jwks_uri end_session_endpoint mccmnc \
        server_initiated_authorization_endpoint pushed_authorization_request_endpoint \
        scopes_supported response_types_supported response_modes_supported grant_types_supported acr_values_supported \
        subject_types_supported id_token_signing_alg_values_supported token_endpoint_auth_methods_supported \
        token_endpoint_auth_signing_alg_values_supported code_challenge_methods_supported \
        request_object_signing_alg_values_supported issued_token_type dpop_signing_alg_values_supported \
        camara_dpop_claims_required authorization_signing_alg_values_supported \
        id_token_encryption_alg_values_supported id_token_encryption_enc_values_supported \
        userinfo_encryption_alg_values_supported userinfo_encryption_enc_values_supported \
        backchannel_token_delivery_modes_supported backchannel_authentication_request_signing_alg_values_supported
        """.split(ascii: " ").map(String.init))

    /// The members whose values are compared without regard to case, and the values of each that are shown as they
    /// are spelled.
    static let caseless: [String: Set<String>] = [
        "typ": ["jwt", "at+jwt"], "token_type": ["bearer", "dpop"],
    ]

    /// The members of a discovery document that are URLs.
    static let urls = Set(
        """
        issuer authorization_endpoint token_endpoint userinfo_endpoint jwks_uri end_session_endpoint \
        server_initiated_authorization_endpoint pushed_authorization_request_endpoint \
        backchannel_authentication_endpoint
        """.split(ascii: " ").map(String.init))

    /// The schemes of URLs that are shown.
    static let schemes: Set = ["https", "http", "file", "gopher", "ftp"]

    /// The members whose number is a time, in seconds since 1970.
    static let times: Set = ["exp", "iat", "nbf", "auth_time"]

    /// The members whose number is a lifetime or an interval, in seconds.
    static let lifetimes: Set = ["expires_in", "interval"]

    /// Values that specifications define.
    static let values: Set<String> = {
        let words = """
            JWT jwt at+jwt application/at+jwt logout+jwt port_token+jwt id_token+jwt none HS256 HS384 HS512 RSA EC OKP \
            oct sig enc verify sign P-256 P-384 P-521 Ed25519 Basic Bearer bearer DPoP N_A code query fragment \
            form_post public pairwise S256 plain authorization_code refresh_token client_credentials implicit \
            openid profile email phone address offline_access a1 a2 a3 crit b64 exp pwd otp mfa sms hwk swk pin fpt \
            face client_secret_basic client_secret_post private_key_jwt tls_client_auth self_signed_tls_client_auth \
            use_dpop_nonce invalid_dpop_proof invalid_token insufficient_scope
            """.split(ascii: " ").map(String.init)
        let others =
            ClientAuthenticationMethod.allCases.map(\.rawValue) + GrantType.allCases.map(\.rawValue)
            + AuthorizationResponseMode.allCases.map(\.rawValue) + DPoPClaim.allCases.map(\.rawValue)
            + KeyManagementAlgorithm.allCases.map(\.rawValue) + ContentEncryption.allCases.map(\.rawValue)
            + BackchannelTokenDeliveryMode.allCases.map(\.rawValue)
        return Set(words + others + SigningAlgorithm.allCases.map(\.rawValue) + ProviderErrorTable.rows.map(\.code))
    }()

    static let mediaTypes: Set = [
        "application/json", "application/jwt", "application/jwk-set+json", "application/problem+json", "text/html",
        "application/xhtml+xml", "multipart/form-data",
        "text/plain", "application/x-www-form-urlencoded", "application/octet-stream",
    ]

    /// Directives of `Cache-Control` whose seconds are shown.
    static let timedDirectives: Set = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"]

    static let cacheDirectives: Set = [
        "no-store", "no-cache", "private", "public", "must-revalidate", "max-age", "s-maxage", "immutable",
        "stale-while-revalidate", "stale-if-error", "no-transform", "proxy-revalidate",
    ]
}
