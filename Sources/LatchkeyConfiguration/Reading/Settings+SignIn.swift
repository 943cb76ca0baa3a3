internal import OpenIDConnect
internal import SignIn

/// The keys of sign-ins, accounts and sessions.
extension Settings {
    static let zenkey: [Setting<Configuration>] = [
        Setting(
            "zenkey.discovery_url", .optional(.carrierURL), \.zenkey.discoveryURL,
            "Returns the OpenID configuration for a client_id and an mccmnc."),
        Setting(
            "zenkey.discovery_ui_url", .optional(.carrierURL), \.zenkey.discoveryUIURL,
            "The URL where clients send users whose network is not known."),
        Setting(
            "zenkey.authorization_url", .optional(.carrierURL), \.zenkey.authorizationURL,
            "Takes authorization requests for any carrier (optimized discovery); without it, users choose their "
                + "carrier first."),
        ClientDraft.setting,
        Setting(
            "zenkey.trusted_issuers", .list(of: .hostPattern, "a list of host patterns"), \.zenkey.trustedIssuers,
            "The hosts that carriers' issuers and endpoints may be on; *.example.com matches all hosts below "
                + "example.com."),
        Setting(
            "zenkey.issuers", .issuers, \.zenkey.issuers,
            "Issuers known in advance, by mccmnc; any other network keeps the issuer that was seen first, and must "
                + "name it with the keys and hosts of the issuer's own OpenID configuration."),
        Setting(
            "zenkey.id_token_types", .list(of: .choice, "a list of types"), \.zenkey.rules.idTokenTypes,
            "The values of typ that carriers' ID tokens may have; absent is an ID token without typ. ZenKey's guides "
                + "show at+jwt."),
        Setting(
            "zenkey.par", .choice, \.zenkey.rules.extensions.pushedAuthorizationRequests,
            "Pushed authorization requests (RFC 9126). auto: if the carrier's metadata requires them; always: also if "
                + "it does not; never: not even then."),
        Setting(
            "zenkey.dpop", .choice, \.zenkey.rules.extensions.dpop,
            "Access tokens that are bound to a key of this server (DPoP, RFC 9449). auto: if the carrier's metadata "
                + "demands them; always: a token that is not bound is refused; never: not even then."),
        Setting(
            "zenkey.mtls", .choice, \.zenkey.rules.extensions.mutualTLS,
            "Mutual TLS (RFC 8705) with the certificate_file of the client. auto: where the client authenticates with "
                + "it, or the carrier's metadata says that tokens can be bound to it; always: a carrier whose metadata "
                + "does not say so is refused; never: not even then."),
        Setting(
            "zenkey.request_object", .choice, \.zenkey.rules.extensions.signedRequestObjects,
            "Signed authorization requests (RFC 9101), with the private_key of the client. auto: if the carrier's "
                + "metadata requires them; always: also if it does not; never: not even then."),
        ProviderDraft.setting,
        Setting(
            "vault.encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"), \.formerVaultKeys,
            isSecret: true,
            "Replaced by encryption_keys. The keys of providers' tokens and users' sensitive claims alone."
        ).replaced(by: "encryption_keys"),
    ]

    static let accounts: [Setting<Configuration>] = [
        Setting(
            "registration", .choice, \.registration.mode,
            "automatic: an unknown subject becomes a user; required: it has to register first."),
        Setting(
            "registration_rules.required_attributes", .list(of: .choice, "a list of attributes"),
            \.registration.requiredAttributes, "The attributes that a registration must have."),
        Setting(
            "registration_rules.blocked_email_domains", .list(of: .emailDomain, "a list of domain names"),
            \.registration.blockedEmailDomains,
            "The domains whose e-mail addresses cannot register, with their subdomains; of an internationalized domain "
                + "either form."),
        Setting(
            "sessions.access_lifetime", .seconds(1...31_536_000), \.sessions.access,
            "How long a session token is valid."),
        Setting(
            "sessions.refresh_lifetime", .seconds(1...315_360_000), \.sessions.refresh,
            "How long a refresh token is valid."),
        Setting(
            "sessions.idle_timeout", .seconds(60...315_360_000), \.sessions.idle,
            "How long a session lasts without a refresh."),
        Setting(
            "sessions.absolute_timeout", .seconds(60...315_360_000), \.sessions.absolute,
            "How long a session lasts in total."),
        Setting(
            "sessions.refresh_grace", .seconds(0...300), \.sessions.refreshGrace,
            "How long after a refresh the former session token is still accepted, for requests in progress. With 0 no "
                + "refresh can be repeated: the used refresh token ends the session."),
        Setting(
            "id_token.clock_skew", .seconds(0...600), \.idToken.clockSkewSeconds,
            "How far a provider's clock may differ from this machine's."),
        Setting(
            "id_token.max_age_of_issue", .seconds(1...86_400),
            \.idToken.maximumAgeSeconds,
            "How long ago an ID token may have been issued."),
        Setting(
            "audit.retention", .duration(86_400...315_360_000), \.auditRetention,
            "How long the audit log is kept."),
        Setting(
            "audit.sign_ins", .flag(), \.auditsSignIns,
            "Records every sign-in, registration and sign-out in the audit log, in its transaction: one row more."),
    ]

    static let signingKeys: [Setting<Configuration>] = [
        Setting(
            "transactions.key_lifetime", .seconds(172_800...31_536_000), \.signingKeys.lifetime,
            "How long a key signs receipts before the next key replaces it."),
        Setting(
            "transactions.encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"),
            \.signingKeys.encryptionKeys, isSecret: true,
            "Replaced by encryption_keys. The keys of the signing keys of receipts alone."
        ).replaced(by: "encryption_keys"),
    ]
}
