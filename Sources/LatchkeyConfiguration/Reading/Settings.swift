/// The keys of the configuration, in the order in which they are read and shown. Every key's name, type, default,
/// secrecy and meaning stand here and nowhere else.
enum Settings {
    static let all: [Setting<Configuration>] =
        general + http + tls + zenkey + accounts + transactions + outbound + metrics + operation

    /// `allow_loopback_http` comes first: whether URLs are good depends on it.
    private static let general: [Setting<Configuration>] = [
        Setting(
            "allow_loopback_http", .flag(), \.allowsLoopbackHTTP,
            "Lets carriers be reached by plain http on loopback addresses; for development and tests."),
        Setting(
            "public_url", .optional(.publicURL), \.publicURL,
            "The base URL under which browsers and apps reach this server."),
        Setting(
            "database.url", .databaseURL, \.database.url, isSecret: true,
            "The database: an SQLite file (three slashes in front of a relative path, four with an absolute one), or a "
                + "PostgreSQL server's."),
        Setting(
            "database.synchronous", .choice, \.database.synchronous,
            "full: an answered sign-in outlasts a loss of power; normal: it outlasts a crash of the process. For SQLite only."
        ),
        Setting(
            "database.pool_size", .integer(2...256), \.database.poolSize,
            "Connections of this process to PostgreSQL: a half writes, the rest reads."),
        Setting(
            "database.statement_timeout", .duration(1...300), \.database.statementTimeout,
            "For one statement on PostgreSQL; what takes longer is answered 503."),
        Setting(
            "api_keys", .list(of: .apiKey, "a list of API keys"), \.apiKeys, isSecret: true,
            "What API callers show in X-API-KEY: keys as they are, or sha256: and the hash of one; in the file also with a name, "
                + "and held to clients and origins."),
        Setting(
            "allowed_origins", .list(of: .origin, "a list of origins"), \.allowedOrigins,
            "Origins of web frontends that may call the API from a browser."),
        Setting(
            "rate_limits", .flag("on", "off"), \.rateLimits,
            "Limits on the rate of requests; limits on connections and bodies always apply."
        ).reloaded(.value),
        Setting(
            "rate_limit_rules.per_address", .quota, \.rateLimitRules.perAddress,
            "Requests of one address (IPv6: of one /64); more are answered 429. This machine's own addresses are not "
                + "limited."
        ).reloaded(.value),
        Setting(
            "rate_limit_rules.sign_ins_per_address", .quota, \.rateLimitRules.signInsPerAddress,
            "Sign-ins, registrations and refreshes of one address."
        ).reloaded(.value),
        Setting(
            "rate_limit_rules.starts_per_address", .quota, \.rateLimitRules.startsPerAddress,
            "Sign-ins by redirect that one address begins."
        ).reloaded(.value),
        Setting(
            "rate_limit_rules.per_api_key", .quota, \.rateLimitRules.perAPIKey, "Requests with one API key."
        ).reloaded(.value),
        Setting(
            "rate_limit_rules.changes_per_user", .quota, \.rateLimitRules.changesPerUser,
            "Changes of one user's account: profile, identities, transactions; never the end of sessions."
        ).reloaded(.value),
    ]

    private static let http: [Setting<Configuration>] = [
        Setting(
            "http.host", .list(of: .bindAddress, "an address or a list of addresses"), \.http.hosts,
            "The address or addresses to listen on."),
        Setting("http.port", .port, \.http.port, "The port to listen on; 0 lets the system choose."),
        Setting("http.loops", .integer(0...256), \.http.loops, "Event loops; 0 makes one for each processor."),
        Setting(
            "http.trusted_proxies", .list(of: .addressRange, "a list of addresses and ranges"), \.http.trustedProxies,
            "Reverse proxies that are believed for whom they ask; nobody else is."
        ).reloaded(.value),
        Setting(
            "http.forwarded_field", .choice, \.http.forwardedField,
            "The one field in which they say so; the other is not looked at."
        ).reloaded(.value),
        Setting(
            "http.limits.max_requests_under_way", .integer(1...1_000_000), \.http.limits.requestsUnderWay,
            "Requests being handled at a time; more are answered 503 at once, before all become slow."
        ).reloaded(.value),
        Setting(
            "http.limits.max_connections", .integer(1...1_000_000), \.http.limits.connections,
            "Connections in all; more are answered 503."),
        Setting(
            "http.limits.max_connections_per_address", .limit(1...1_000_000), \.http.limits.connectionsPerAddress,
            "Connections of one address; more are answered 429. Leave it at 0 behind a reverse proxy."),
        Setting(
            "http.limits.max_requests_per_connection", .integer(1...1_000_000_000),
            \.http.limits.requestsPerConnection, "Requests after which a connection is closed."),
        Setting(
            "http.limits.max_request_line_bytes", .size(256...1 << 20), \.http.limits.requestLineBytes,
            "The longest request line; a longer one is answered 414."),
        Setting(
            "http.limits.max_header_bytes", .size(1024...1 << 20), \.http.limits.headerBytes,
            "All fields of a request together; more are answered 431."),
        Setting(
            "http.limits.max_header_fields", .integer(8...1000), \.http.limits.headerFields,
            "Fields of a request; more are answered 431."),
        Setting(
            "http.limits.max_body_bytes", .size(1024...64 << 10), \.http.limits.bodyBytes,
            "The largest body of a request; a larger one is answered 413."),
        Setting(
            "http.timeouts.header", .duration(1...3600), \.http.timeouts.header,
            "From a request's first byte to the end of its head."),
        Setting("http.timeouts.body", .duration(1...3600), \.http.timeouts.body, "For the body of a request."),
        Setting(
            "http.timeouts.idle", .duration(1...3600), \.http.timeouts.idle, "Between two requests of a connection."),
        Setting("http.timeouts.write", .duration(1...3600), \.http.timeouts.write, "For a client to take an answer."),
        Setting(
            "http.timeouts.drain", .duration(0...3600), \.http.timeouts.drain,
            "From SIGTERM until what still runs is cut off."),
    ]

    private static let tls: [Setting<Configuration>] = [
        Setting(
            "tls.certificate_file", .optional(.path), \.tls.certificateFile,
            "A PEM file with the server's certificate, and after it those that lead to its authority; with it, HTTPS is "
                + "served beside HTTP."
        ).reloaded(.contentsOfFile),
        Setting(
            "tls.private_key_file", .optional(.path), \.tls.privateKeyFile,
            "A PEM file with the certificate's private key, without a passphrase."
        ).reloaded(.contentsOfFile),
        Setting(
            "tls.host", .list(of: .bindAddress, "an address or a list of addresses"), \.tls.hosts,
            "The address or addresses to listen on for HTTPS; without any, those of http.host."),
        Setting("tls.port", .port, \.tls.port, "The port to listen on for HTTPS; 0 lets the system choose."),
        Setting(
            "tls.redirect_port", .optional(.port), \.tls.redirectPort,
            "A port where plain HTTP is answered with the way to public_url."),
        Setting(
            "tls.client_certificates", .choice, \.tls.clients,
            "none: clients are not asked for certificates; optional: they may have none; required: they must show one."),
        Setting(
            "tls.client_ca_file", .optional(.path), \.tls.clientAuthoritiesFile,
            "A PEM file with the authorities that clients' certificates have to come from."
        ).reloaded(.contentsOfFile),
        Setting(
            "tls.handshake_timeout", .duration(1...60), \.tls.handshakeTimeout,
            "From a connection's beginning to the end of its handshake."),
        Setting(
            "tls.max_handshakes", .integer(1...100_000), \.tls.handshakes,
            "Handshakes under way at a time; the one that waits for its client the longest makes room for a new one."),
    ]

    private static let zenkey: [Setting<Configuration>] = [
        Setting(
            "zenkey.discovery_url", .optional(.carrierURL), \.zenkey.discoveryURL,
            "Asked for a network's OpenID configuration, with client_id and mccmnc."),
        Setting(
            "zenkey.discovery_ui_url", .optional(.carrierURL), \.zenkey.discoveryUIURL,
            "Told to clients as the place to go when a network is not known."),
        Setting(
            "zenkey.authorization_url", .optional(.carrierURL), \.zenkey.authorizationURL,
            "Takes authorization requests for whatever carrier the user has (optimized discovery); without it, users choose "
                + "their carrier first."),
        ClientDraft.setting,
        Setting(
            "zenkey.trusted_issuers", .list(of: .hostPattern, "a list of host patterns"), \.zenkey.trustedIssuers,
            "Hosts that carriers' issuers and endpoints may be on; *.example.com is all hosts below example.com."),
        Setting(
            "zenkey.issuers", .issuers, \.zenkey.issuers,
            "Issuers known beforehand, by mccmnc; any other network is held to the issuer first seen."),
        ProviderDraft.setting,
        Setting(
            "vault.encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"), \.vault.encryptionKeys,
            isSecret: true,
            "What providers' tokens are encrypted with in the database; the first encrypts, all decrypt."),
    ]

    private static let accounts: [Setting<Configuration>] = [
        Setting(
            "registration", .choice, \.registration.mode,
            "automatic: an unknown subject becomes a user; required: it has to register first."),
        Setting(
            "registration_rules.required_attributes", .list(of: .choice, "a list of attributes"),
            \.registration.requiredAttributes, "Attributes without which a registration is refused."),
        Setting(
            "registration_rules.blocked_email_domains", .list(of: .emailDomain, "a list of domain names"),
            \.registration.blockedEmailDomains, "Domains whose addresses cannot register."),
        Setting(
            "sessions.access_lifetime", .duration(1...31_536_000), \.sessions.accessLifetime,
            "How long a session token holds."),
        Setting(
            "sessions.refresh_lifetime", .duration(1...315_360_000), \.sessions.refreshLifetime,
            "How long a refresh token holds."),
        Setting(
            "sessions.idle_timeout", .duration(60...315_360_000), \.sessions.idleTimeout,
            "How long a session lasts that is not refreshed."),
        Setting(
            "sessions.absolute_timeout", .duration(60...315_360_000), \.sessions.absoluteTimeout,
            "How long a session lasts, however often it is refreshed."),
        Setting(
            "sessions.refresh_grace", .duration(0...300), \.sessions.refreshGrace,
            "How long after a refresh the very same one is answered again, with the same tokens; 0 answers none again."
        ),
        Setting(
            "sessions.max_age_to_link", .duration(60...315_360_000), \.sessions.maximumAgeToLink,
            "How long ago the user may have signed in who adds another way to sign in."),
        Setting(
            "id_token.clock_skew", .duration(0...600), \.idToken.clockSkew, "How far a carrier's clock may be off."),
        Setting(
            "id_token.max_age_of_issue", .duration(1...86_400), \.idToken.maximumAgeOfIssue,
            "How long ago an ID token may have been issued."),
        Setting(
            "audit.retention", .duration(86_400...315_360_000), \.audit.retention,
            "How long the record of what was done to accounts is kept."),
    ]

    private static let transactions: [Setting<Configuration>] = [
        Setting(
            "transactions.max_auth_age", .duration(1...86_400), \.transactions.maximumAuthenticationAge,
            "How long ago the carrier may have authenticated the user who approves a transaction."),
        Setting(
            "transactions.receipt_lifetime", .duration(10...3600), \.transactions.receiptLifetime,
            "How long the receipt of a transaction can be redeemed."),
        Setting(
            "transactions.key_lifetime", .duration(172_800...31_536_000), \.transactions.keyLifetime,
            "How long a key signs receipts before the next one does."),
        Setting(
            "transactions.encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"),
            \.transactions.encryptionKeys, isSecret: true,
            "What the signing keys are encrypted with in the database; the first encrypts, all decrypt."),
    ]

    private static let outbound: [Setting<Configuration>] = [
        Setting(
            "outbound.timeouts.discovery", .duration(1...120), \.outbound.timeouts.discovery,
            "For a whole discovery request."),
        Setting("outbound.timeouts.jwks", .duration(1...120), \.outbound.timeouts.keys, "For a whole request of keys."),
        Setting("outbound.timeouts.token", .duration(1...120), \.outbound.timeouts.token, "For a whole token request."),
        Setting(
            "outbound.timeouts.userinfo", .duration(1...120), \.outbound.timeouts.userInfo,
            "For a whole userinfo request."),
        Setting(
            "outbound.per_host_connections", .integer(1...4096), \.outbound.connectionsPerHost,
            "Connections to one carrier at a time, so that one that hangs does not hold up the others."),
        Setting(
            "outbound.per_carrier_requests", .integer(1...65_536), \.outbound.requestsPerCarrier,
            "Requests to one carrier under way or waiting for a connection; a sign-in beyond them is answered 503 at once."
        ),
        Setting(
            "outbound.circuit_breaker.failures", .integer(1...1000), \.outbound.circuitBreaker.failures,
            "Times in a row that a carrier does not answer, after which it is left alone and sign-ins are answered 503."
        ),
        Setting(
            "outbound.circuit_breaker.pause", .duration(1...60), \.outbound.circuitBreaker.pause,
            "How long it is left alone until one sign-in tries again; each try in vain doubles it, up to 1m."),
        Setting(
            "outbound.allow_private_networks", .flag(), \.outbound.allowsPrivateNetworks,
            "Lets carriers be reached on private addresses too."),
        Setting(
            "outbound.ca_bundle", .optional(.path), \.outbound.certificateAuthorities,
            "A file of PEM certificates to trust instead of the system's."),
        Setting(
            "outbound.proxy", .optional(.proxyURL), \.outbound.proxy, isSecret: true,
            "The URL of a proxy for requests to carriers; it may hold a user and a password."),
    ]

    private static let operation: [Setting<Configuration>] = [
        Setting(
            "compat.async302", .flag(), \.compatibility.async302,
            "Answers the outcome of a server-initiated sign-in with 302 instead of 200, as the published example does."),
        Setting(
            "compat.zephr", .flag(), \.compatibility.zephr,
            "Has the paths of Zephr's OAuth sign-in below /zephr and /blaize, too."),
        Setting("log.level", .choice, \.log.level, "From which severity on is logged.").reloaded(.value),
        Setting("log.format", .choice, \.log.format, "text for people, json for machines."),
    ]
}
