extension ConformanceCases {
    static let olderOthers =
        others(
            noFrontChannel, "rp-response_type-id_token", "rp-response_type-id_token+token",
            "rp-response_type-code+id_token",
            "rp-response_type-code+token", "rp-response_type-code+id_token+token", "rp-id_token-bad-at_hash",
            "rp-id_token-missing-at_hash", "rp-id_token-bad-c_hash", "rp-id_token-missing-c_hash",
            "rp-nonce-unless-code-flow")
        + others(callback + " by form.", "rp-response_mode-form_post")
        + others(callback + " by form, and with errors.", "rp-response_mode-form_post-error")
        + others(noThirdParty, "rp-3rd_party-init-login")
        + others(noRequestObjects, "rp-claims_request-id_token", "rp-claims_request-userinfo")
        + others(
            noRequestObjects, "rp-request_uri-unsigned", "rp-request_uri-sig", "rp-request_uri-enc",
            "rp-request_uri-sig+enc")
        + others(noEncryption, "rp-id_token-sig+enc-a128kw", "rp-userinfo-enc", "rp-userinfo-sig+enc")
        + others(noEncryption, "rp-key-rotation-op-enc-key")
        + others("Plain JSON is registered for userinfo; a JWT is refused (see x-userinfo-jwt).", "rp-userinfo-sig")
        + others("The access token is sent in the header only.", "rp-userinfo-bearer-body")
        + others(
            noWebFinger, "rp-discovery-webfinger-acct", "rp-discovery-webfinger-url",
            "rp-discovery-webfinger-http-href",
            "rp-discovery-webfinger-unknown-member")
        + others(noRegistration, "rp-registration-dynamic")

    static let newerOthers =
        others(noFrontChannel, "oidcc-client-test-nonce-unless-code-flow", "oidcc-client-test-invalid-athash")
        + others(noFrontChannel, "oidcc-client-test-missing-athash", "oidcc-client-test-invalid-chash")
        + others(noFrontChannel, "oidcc-client-test-missing-chash")
        + others("The access token is sent in the header only.", "oidcc-client-test-userinfo-bearer-body")
        + others(
            "Plain JSON is registered for userinfo; a JWT is refused (see x-userinfo-jwt).",
            "oidcc-client-test-userinfo-signed")
        + others(noWebFinger, "oidcc-client-test-discovery-webfinger-acct", "oidcc-client-test-discovery-webfinger-url")
        + others(noRegistration, "oidcc-client-test-dynamic-registration")
        + others(noRequestObjects, "oidcc-client-test-request-uri-signed-rs256")
        + others(noRequestObjects, "oidcc-client-test-request-uri-signed-none")
        + others(callback + " by form, and with errors.", "oidcc-client-test-form-post-error")
        + others(noThirdParty, "oidcc-client-test-3rd-party-init-login")
        + others(
            noCarrierRefresh, "oidcc-client-test-refresh-token", "oidcc-client-test-refresh-token-invalid-issuer",
            "oidcc-client-test-refresh-token-invalid-sub")
        + others(
            noLogout, "oidcc-client-test-rp-backchannel-rpinitlogout",
            "oidcc-client-test-rp-backchannel-rpinitlogout-alg-none",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-alg",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-aud",
            "oidcc-client-test-rp-backchannel-rpinitlogout-no-event",
            "oidcc-client-test-rp-backchannel-rpinitlogout-wrong-event",
            "oidcc-client-test-rp-backchannel-rpinitlogout-with-nonce",
            "oidcc-client-test-rp-frontchannel-opinitlogout", "oidcc-client-test-rp-frontchannel-rpinitlogout",
            "oidcc-client-test-rp-init-logout", "oidcc-client-test-rp-init-logout-no-state",
            "oidcc-client-test-rp-init-logout-other-state", "oidcc-client-test-session-management")
        + others(
            "The client of the run has a secret for Basic; ClientAuthenticationTests shows the others.", "auth-post",
            "auth-private-key-jwt")
        + others("Secrets are never used as keys.", "auth-secret-jwt")

    static let fapiOthers =
        others(callback + " with the iss of another, and no token request.", "fapi2-invalid-authorization-response-iss")
        + others(
            "The iss of an authorization response is checked where it is there.",
            "fapi2-remove-authorization-response-iss")
        + others(
            callback + " with an unknown state and with none.",
            "fapi2-ensure-authorization-response-with-invalid-state-fails",
            "fapi2-ensure-authorization-response-with-invalid-missing-state-fails")
        + others("JARM is not registered.", "fapi2-ensure-jarm")
        + others("Access tokens are not bound to keys: no DPoP.", "fapi2-rs-dpop-auth-scheme-case-insensitivity")
        + others("The cases without DPoP nonces need DPoP.", "fapi2-happy-path-no-dpop-nonce")
        + others(noCarrierRefresh, "fapi2-client-refresh-token")
        + others("Intent ids belong to open banking.", "fapi2-invalid-openbanking-intent-id")

    static let gapOthers =
        others(callback + " with access_denied and server_error.", "x-authz-error")
        + others(noFrontChannel, "x-response_type:front-channel")
        + others("Sign-in by code asks for no max_age; the check is tested by itself.", "x-max_age")

    static let literatureOthers =
        others(callback + " with a state that was used.", "sec-23 replay:callback")
        + others(callback + " with the iss of another.", "sec-26 mix-up:callback")
        + others(callback + " in another browser, and with states unknown, absent and doubled.", "sec-43 state-csrf")
        + others(
            "Names that resolve to other addresses are tested where addresses are: OutboundHTTPTests.",
            "sec-28 dns-rebind")
        + others("TLS is tested where it is spoken: OutboundHTTPTests.", "sec-35 close_notify", "sec-36 slow-handshake")
}
