extension ConformanceCases {
    static let olderOthers =
        others(
            noFrontChannel, "rp-response_type-id_token", "rp-response_type-id_token+token",
            "rp-response_type-code+id_token",
            "rp-response_type-code+token", "rp-response_type-code+id_token+token", "rp-id_token-bad-at_hash",
            "rp-id_token-missing-at_hash", "rp-id_token-bad-c_hash", "rp-id_token-missing-c_hash",
            "rp-nonce-unless-code-flow")
        + others(noThirdParty, "rp-3rd_party-init-login")
        + others(noClaimsParameter, "rp-claims_request-id_token", "rp-claims_request-userinfo")
        + others(
            noRequestURIs, "rp-request_uri-unsigned", "rp-request_uri-sig", "rp-request_uri-enc",
            "rp-request_uri-sig+enc")
        + others(noEncryption, "rp-id_token-sig+enc-a128kw", "rp-userinfo-enc", "rp-userinfo-sig+enc")
        + others(noEncryption, "rp-key-rotation-op-enc-key")
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
        + others(noWebFinger, "oidcc-client-test-discovery-webfinger-acct", "oidcc-client-test-discovery-webfinger-url")
        + others(noRegistration, "oidcc-client-test-dynamic-registration")
        + others(noRequestURIs, "oidcc-client-test-request-uri-signed-rs256")
        + others(noRequestURIs, "oidcc-client-test-request-uri-signed-none")
        + others(noThirdParty, "oidcc-client-test-3rd-party-init-login")
        + others(
            noCarrierRefresh, "oidcc-client-test-refresh-token", "oidcc-client-test-refresh-token-invalid-issuer",
            "oidcc-client-test-refresh-token-invalid-sub")
        + others(
            noFrames, "oidcc-client-test-rp-frontchannel-opinitlogout",
            "oidcc-client-test-rp-frontchannel-rpinitlogout", "oidcc-client-test-session-management")
        + others("Secrets are never used as keys.", "auth-secret-jwt")

    static let fapiOthers =
        others("JARM is not registered.", "fapi2-ensure-jarm")
        + others(noCarrierRefresh, "fapi2-client-refresh-token")
        + others("Intent ids are part of open banking.", "fapi2-invalid-openbanking-intent-id")

    static let literatureOthers =
        others(
            "OutboundHTTPTests tests names that resolve to other addresses.",
            "sec-28 dns-rebind")
        + others(
            "OutboundHTTPTests and TLSTests test TLS.", "sec-35 close_notify",
            "sec-36 slow-handshake")
}
