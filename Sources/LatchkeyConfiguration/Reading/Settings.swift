internal import HTTPServer
internal import LatchkeyAPI
internal import OpenIDConnect
internal import SignIn
internal import StorageModel

/// The keys of the configuration in the order in which they are read and shown: the only place of every key's name,
/// type, default, secrecy and meaning.
enum Settings {
    static let all: [Setting<Configuration>] =
        general + http + tls + zenkey + accounts + transactions + outbound + metrics + telemetry + operation

    /// `allow_loopback_http` is first: it decides which URLs are valid.
    private static let general: [Setting<Configuration>] = [
        Setting(
            "allow_loopback_http", .flag(), \.allowsLoopbackHTTP,
            "Allows plain HTTP to carriers on loopback addresses; for development and tests."),
        Setting(
            "public_url", .optional(.publicURL), \.publicURL,
            "The base URL of this server as browsers and apps know it."),
        Setting(
            "database.url", .databaseURL, \.database.url, isSecret: true,
            "The database: an SQLite file (three slashes before a relative path, four with an absolute one), or a "
                + "PostgreSQL database."),
        Setting(
            "database.synchronous", .choice, \.database.synchronous,
            "full: an answered sign-in survives a loss of power; normal: it survives a crash of the process. For "
                + "SQLite only."),
        Setting(
            "database.pool_size", .integer(2...256), \.database.poolSize,
            "The most connections of this process to PostgreSQL. Half of them write, the others read."),
        Setting(
            "database.statement_timeout", .duration(1...300), \.database.statementTimeout,
            "The time limit of one PostgreSQL statement; a request whose statement takes longer is answered 503."),
        Setting(
            "database.max_wait", .duration(1...300), \.database.maximumWait,
            "How long a request may wait until a connection to the database is free; then it is answered 503."),
        Setting(
            "encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"), \.encryptionKeys,
            isSecret: true,
            "The keys that encrypt in the database: providers' tokens, users' sensitive claims, and the signing keys, "
                + "which sign receipts and the seals of the audit log. The first encrypts, all decrypt."),
        Setting(
            "api_keys", .list(of: .apiKey, "a list of API keys"), \.apiKeys, isSecret: true,
            "The keys that API callers send in X-API-KEY: in plain text, or as sha256: and the key's hash. In the "
                + "file, a key may also have a name, clients and origins."),
        Setting(
            "allowed_origins", .list(of: .origin, "a list of origins"), \.allowedOrigins,
            "The origins of web frontends that may call the API from a browser."),
        Setting(
            "console", .flag("on", "off"), \.hasConsole,
            "Whether the front page is the developer console; otherwise it is the sign-in page."),
        Setting(
            "files.directory", .optional(.folder), \.filesDirectory,
            "A folder whose files are served beside the program's own pages; a file with the path of a page replaces "
                + "it."),
        Setting(
            "rate_limits.enabled", formerly: "rate_limits", .flag("on", "off"), \.rateLimits,
            "Whether the limits of this group apply; the limits on connections and bodies always apply."
        ).reloaded(.value),
        Setting(
            "rate_limits.per_address", formerly: "rate_limit_rules.per_address", .quota, \.requestLimits.perAddress,
            "Requests from one address (IPv6: one /64 network); more are answered 429. Loopback addresses have no "
                + "limit."
        ).reloaded(.value),
        Setting(
            "rate_limits.sign_ins_per_address", formerly: "rate_limit_rules.sign_ins_per_address", .quota,
            \.requestLimits.signInsPerAddress,
            "Sign-ins, registrations and refreshes from one address."
        ).reloaded(.value),
        Setting(
            "rate_limits.starts_per_address", formerly: "rate_limit_rules.starts_per_address", .quota,
            \.requestLimits.startsPerAddress,
            "Sign-ins by redirect started from one address."
        ).reloaded(.value),
        Setting(
            "rate_limits.starts_per_subnet", formerly: "rate_limit_rules.starts_per_subnet", .quota,
            \.requestLimits.startsPerSubnet,
            "Sign-ins by redirect started from one subnet (IPv4: a /24; IPv6: a /48)."
        ).reloaded(.value),
        Setting(
            "rate_limits.per_api_key", formerly: "rate_limit_rules.per_api_key", .quota, \.requestLimits.perAPIKey,
            "Requests with one API key."
        )
        .reloaded(.value),
        Setting(
            "rate_limits.changes_per_user", formerly: "rate_limit_rules.changes_per_user", .quota,
            \.requestLimits.changesPerUser,
            "Changes to one user's account: profile, identities, transactions. Ending sessions has no limit."
        ).reloaded(.value),
        Setting(
            "rate_limits.prompts_per_user", formerly: "rate_limit_rules.prompts_per_user", .quota,
            \.requestLimits.promptsPerUser,
            "Prompts on one user's phone by backchannel authentication, those of cancelled requests included. One "
                + "caller may cause half of them."
        ).reloaded(.value),
        Setting(
            "redirects.max_pending", .integer(100...10_000_000), \.maximumPendingStarts,
            "The most sign-ins by redirect in progress that this process has started. One more drops the oldest one of "
                + "the subnet with the most, which must be started again."),
        Setting(
            "backchannel_authentication.pending_per_user", .integer(1...100),
            \.backchannelAuthentication.pendingPerUser,
            "The most backchannel requests pending for one user; one caller may have half of them, rounded up."),
        Setting(
            "backchannel_authentication.pending_per_caller", .integer(1...1_000_000),
            \.backchannelAuthentication.pendingPerCaller,
            "The most pending at one carrier for one API key, or one address without a key: at most half of "
                + "pending_per_carrier."),
        Setting(
            "backchannel_authentication.pending_per_carrier", .integer(2...1_000_000),
            \.backchannelAuthentication.pendingPerCarrier,
            "The most pending at one carrier."),
    ]

    private static let http: [Setting<Configuration>] = [
        Setting(
            "http.host", .list(of: .bindAddress, "an address or a list of addresses"), \.http.hosts,
            "The address or addresses to listen on."),
        Setting("http.port", .port, \.http.port, "The port to listen on; 0 lets the system choose."),
        Setting(
            "http.loops", .integer(0...64), \.http.loops,
            "Event loops; 0 makes one for each processor, up to 64."),
        Setting(
            "http.trusted_proxies", .list(of: .addressRange, "a list of addresses and ranges"),
            \.requestLimits.proxies.ranges,
            "The reverse proxies whose forwarding field is trusted for the client's address."
        ).reloaded(.value),
        Setting(
            "http.forwarded_field", .choice, \.requestLimits.proxies.field,
            "The forwarding field that the trusted proxies write; the other one is ignored."
        ).reloaded(.value),
        Setting(
            "http.limits.max_concurrent_requests", formerly: "http.limits.max_requests_under_way",
            .optional(.integer(1...1_000_000)), \.requestLimits.requestsInProgress,
            "Requests handled at the same time; more are answered 503 at once, before all become slow."
        ).reloaded(.value),
        Setting(
            "http.limits.max_connections", .integer(1...1_000_000), \.http.limits.connections,
            "Connections in total. One more closes the idlest connection of the subnet with the most (IPv4: a /24; "
                + "IPv6: a /48)."),
        Setting(
            "http.limits.max_connections_per_address", .connectionShare(1...1_000_000), \.http.connectionShare,
            "Connections from one address (IPv6: one /64 network); more are answered 429. auto is a quarter of "
                + "max_connections, and no limit for addresses of this machine and of http.trusted_proxies."),
        Setting(
            "http.limits.max_unsent_bytes", .size(4 << 20...64 << 30), \.http.limits.unsentBytes,
            "Memory for responses that clients have not received yet, for all connections together. Beyond it, the "
                + "slowest readers of the subnet with the most unread bytes are disconnected."),
        Setting(
            "http.limits.max_requests_per_connection", .integer(1...1_000_000_000),
            \.http.limits.requestsPerConnection, "Requests after which a connection is closed."),
        Setting(
            "http.limits.max_request_line_bytes", .size(256...1 << 20), \.http.limits.requestLineBytes,
            "The longest request line; a longer one is answered 414."),
        Setting(
            "http.limits.max_header_bytes", .size(1024...1 << 20), \.http.limits.headerBytes,
            "The total size of a request's header fields; more is answered 431."),
        Setting(
            "http.limits.max_header_fields", .integer(8...1000), \.http.limits.headerFields,
            "Header fields of a request; more are answered 431."),
        Setting(
            "http.limits.max_body_bytes", .size(1024...64 << 10), \.http.limits.bodyBytes,
            "The largest request body; a larger one is answered 413."),
        Setting(
            "http.timeouts.header", .duration(1...3600), \.http.timeouts.header,
            "From the first byte of a request to the end of its header."),
        Setting(
            "http.timeouts.body", .duration(1...3600), \.http.timeouts.body, "For receiving the body of a request."),
        Setting(
            "http.timeouts.idle", .duration(1...3600), \.http.timeouts.idle,
            "Between two requests on a connection."),
        Setting(
            "http.timeouts.write", .duration(1...3600), \.http.timeouts.write,
            "For a client to receive a response."),
        Setting(
            "http.timeouts.drain", .duration(0...3600), \.http.drainTimeout,
            "From SIGTERM until the remaining connections are closed."),
    ]

    private static let tls: [Setting<Configuration>] = [
        Setting(
            "tls.certificate_file", .optional(.path), \.tls.certificateFile,
            "A PEM file of the server's certificate, followed by its intermediate certificates. If it is set, HTTPS is "
                + "served beside HTTP."
        ).reloaded(.contentsOfFile),
        Setting(
            "tls.private_key_file", .optional(.path), \.tls.privateKeyFile,
            "A PEM file of the certificate's private key, without a passphrase."
        ).reloaded(.contentsOfFile),
        Setting(
            "tls.host", .list(of: .bindAddress, "an address or a list of addresses"), \.tls.hosts,
            "The address or addresses to listen on for HTTPS; by default those of http.host."),
        Setting("tls.port", .port, \.tls.port, "The port to listen on for HTTPS; 0 lets the system choose."),
        Setting(
            "tls.redirect_port", .optional(.port), \.tls.redirectPort,
            "A port where plain HTTP is redirected to public_url."),
        Setting(
            "tls.client_certificates", .choice, \.tls.clients,
            "none: clients are not asked for a certificate; optional: a client may show one; required: a client must "
                + "show one."),
        Setting(
            "tls.client_ca_file", .optional(.path), \.tls.clientAuthoritiesFile,
            "A PEM file of the certificate authorities for client certificates."
        ).reloaded(.contentsOfFile),
        Setting(
            "tls.handshake_timeout", .duration(1...60), \.http.timeouts.handshake,
            "From the start of a connection to the end of its TLS handshake."),
        Setting(
            "tls.max_handshakes", .integer(1...100_000), \.http.limits.handshakes,
            "TLS handshakes in progress. One more closes the oldest handshake of the subnet with the most."),
    ]

    private static let zenkey: [Setting<Configuration>] = [
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
            "zenkey.id_token_types", .list(of: .choice, "a list of types"), \.zenkey.idTokenTypes,
            "The values of typ that carriers' ID tokens may have; absent is an ID token without typ. ZenKey's guides "
                + "show at+jwt."),
        Setting(
            "zenkey.par", .choice, \.zenkey.pushedAuthorizationRequests,
            "Pushed authorization requests (RFC 9126). auto: if the carrier's metadata requires them; always: also if "
                + "it does not; never: not even then."),
        Setting(
            "zenkey.dpop", .choice, \.zenkey.dpop,
            "Access tokens that are bound to a key of this server (DPoP, RFC 9449). auto: if the carrier's metadata "
                + "demands them; always: a token that is not bound is refused; never: not even then."),
        Setting(
            "zenkey.mtls", .choice, \.zenkey.mutualTLS,
            "Mutual TLS (RFC 8705) with the certificate_file of the client. auto: where the client authenticates with "
                + "it, or the carrier's metadata says that tokens can be bound to it; always: a carrier whose metadata "
                + "does not say so is refused; never: not even then."),
        Setting(
            "zenkey.request_object", .choice, \.zenkey.signedRequestObjects,
            "Signed authorization requests (RFC 9101), with the private_key of the client. auto: if the carrier's "
                + "metadata requires them; always: also if it does not; never: not even then."),
        Setting(
            "zenkey.port_tokens.require_type", .flag(), \.zenkey.requiresPortTokenType,
            "Whether the typ of port tokens must be port_token+jwt; otherwise it may also be absent."),
        ProviderDraft.setting,
        Setting(
            "vault.encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"), \.formerVaultKeys,
            isSecret: true,
            "Replaced by encryption_keys. The keys of providers' tokens and users' sensitive claims alone."
        ).replaced(by: "encryption_keys"),
    ]

    private static let accounts: [Setting<Configuration>] = [
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
            "How long after a refresh a retry of it gets the same tokens again; 0 refuses every retry."),
        Setting(
            "sessions.max_age_to_link", .seconds(60...315_360_000), \.sessions.signInToLink,
            "How long after signing in a user may add another way to sign in."),
        Setting(
            "id_token.clock_skew", .seconds(0...600), \.idToken.clockSkewSeconds,
            "How far a carrier's clock may differ from this machine's."),
        Setting(
            "id_token.max_age_of_issue", .seconds(1...86_400),
            \.idToken.maximumAgeSeconds,
            "How long ago an ID token may have been issued."),
        Setting(
            "audit.retention", .duration(86_400...315_360_000), \.auditRetention,
            "How long the audit log is kept."),
        Setting(
            "audit.sign_ins", .flag(), \.auditsSignIns,
            "Records every sign-in and registration in the audit log, in the sign-in's transaction: one row more."),
        Setting(
            "capsules.count", .integer(0...100_000), \.capsules.count,
            "The most capsules of failed sign-ins that are kept; 0 makes none."),
        Setting(
            "capsules.retention", .duration(60...31_536_000), \.capsules.retention,
            "How long the capsule of a failed sign-in is kept."),
        Setting(
            "capsules.per_minute", .integer(1...1_000_000), \.capsules.maximumPerMinute,
            "The most capsules that one instance makes in a minute."),
    ]

    private static let transactions: [Setting<Configuration>] = [
        Setting(
            "transactions.max_auth_age", .seconds(1...86_400), \.transactions.maximumAuthenticationAge,
            "How long ago the user who approves a transaction may have authenticated."),
        Setting(
            "transactions.receipt_lifetime", .seconds(10...3600), \.transactions.receiptLifetime,
            "How long the receipt of a transaction can be redeemed."),
        Setting(
            "transactions.key_lifetime", .seconds(172_800...31_536_000), \.transactions.keyLifetime,
            "How long a key signs receipts before the next key replaces it."),
        Setting(
            "transactions.encryption_keys", .list(of: .encryptionKey, "a list of encryption keys"),
            \.transactions.encryptionKeys, isSecret: true,
            "Replaced by encryption_keys. The keys of the signing keys of receipts alone."
        ).replaced(by: "encryption_keys"),
    ]

    private static let outbound: [Setting<Configuration>] = [
        Setting(
            "outbound.timeouts.discovery", .duration(1...120), \.outbound.limits.discoveryTimeout,
            "The time limit of a discovery request."),
        Setting(
            "outbound.timeouts.jwks", .duration(1...120), \.outbound.limits.keysTimeout,
            "The time limit of a request for keys."),
        Setting(
            "outbound.timeouts.token", .duration(1...120), \.outbound.limits.tokenTimeout,
            "The time limit of a token request."),
        Setting(
            "outbound.timeouts.userinfo", .duration(1...120), \.outbound.limits.userInfoTimeout,
            "The time limit of a userinfo request."),
        Setting(
            "outbound.max_connections_per_host", formerly: "outbound.per_host_connections", .integer(1...4096),
            \.outbound.connectionsPerHost,
            "Connections to one host at the same time, so that a carrier that hangs does not delay the others."),
        Setting(
            "outbound.max_requests_per_carrier", formerly: "outbound.per_carrier_requests", .integer(1...65_536),
            \.outbound.bulkhead.maximumInFlight,
            "Requests to one carrier that are in progress or wait for a connection; a sign-in beyond them is answered "
                + "503 at once."),
        Setting(
            "outbound.circuit_breaker.failures", .integer(1...1000), \.outbound.bulkhead.failures,
            "Consecutive requests without a response after which the circuit breaker opens and sign-ins are answered "
                + "503."),
        Setting(
            "outbound.circuit_breaker.pause", .seconds(1...60), \.outbound.bulkhead.pause,
            "How long the circuit breaker stays open before one request is tried; each failed try doubles it, up to 1m."
        ),
        Setting(
            "outbound.allow_private_networks", .flag(), \.outbound.allowsPrivateNetworks,
            "Allows carriers on private addresses."),
        Setting(
            "outbound.ca_bundle", .optional(.path), \.outbound.certificateAuthorities,
            "A file of PEM certificates to trust instead of the system's."),
        Setting(
            "outbound.proxy", .optional(.proxyURL), \.outbound.proxy, isSecret: true,
            "The http:// URL of a proxy for outbound requests; without a port, 1080. It may hold a user name and a "
                + "password, percent-encoded."),
    ]

    private static let metrics: [Setting<Configuration>] = [
        Setting(
            "metrics.allowed_addresses", .list(of: .addressRange, "a list of addresses and ranges"),
            \.metrics.allowedAddresses,
            "The addresses that may read /metrics on the API's port. A request through a trusted proxy counts as the "
                + "client's."),
        Setting(
            "metrics.port", .optional(.port), \.metrics.port,
            "A separate port for /metrics, open to every address that can reach it; the API's port then has no "
                + "/metrics."),
        Setting(
            "metrics.host", .list(of: .bindAddress, "an address or a list of addresses"), \.metrics.hosts,
            "The address or addresses of metrics.port."),
    ]

    private static let telemetry: [Setting<Configuration>] = [
        Setting(
            "telemetry.otlp_endpoint", .optional(.receiverURL), \.telemetry.endpoint,
            "The base URL of an OpenTelemetry receiver, such as a collector, which gets traces at /v1/traces and "
                + "metrics at /v1/metrics, as JSON; without it nothing is exported. Plain http is for loopback "
                + "addresses only."),
        Setting(
            "telemetry.otlp_headers", .list(of: .telemetryHeader, "a list of header fields"), \.telemetry.headers,
            isSecret: true,
            "Header fields of the requests to the receiver, such as its key, each as name=value with the value "
                + "percent-encoded."),
        Setting(
            "telemetry.service_name", .shownName, \.telemetry.serviceName,
            "The service.name of the exported traces and metrics."),
        Setting(
            "telemetry.sample_ratio", .ratio, \.telemetry.sampleRatio,
            "The part of the traces that is exported; a request with a traceparent follows its sampled flag instead."),
        Setting(
            "telemetry.metrics_interval", .duration(1...3600), \.telemetry.metricsInterval,
            "The time from one export of the metrics to the next."),
    ]

    private static let operation: [Setting<Configuration>] = [
        Setting(
            "compat.async302", .flag(), \.compatibility.async302,
            "Answers the outcome of a backchannel authentication with 302 instead of 200, as the published example "
                + "does."),
        Setting(
            "compat.android", .flag(), \.compatibility.android,
            "Answers as the published Android example expects: the error of an unknown user is unlinked_user, and the "
                + "attributes in the profile are objects with a value. The iOS example and Latchkey's own clients do "
                + "not understand such a profile."),
        Setting(
            "compat.zephr", .flag(), \.compatibility.zephr,
            "Adds the paths of Zephr's OAuth sign-in below /zephr and /blaize."),
        Setting("log.level", .choice, \.log.level, "The lowest severity that is logged.").reloaded(.value),
        Setting("log.format", .choice, \.log.format, "text for people, json for programs."),
        Setting(
            "debug.memory_dumps", .flag(), \.allowsMemoryDumps,
            "Lets core dumps, debuggers and profilers of the same user read the server's memory, which has secrets."),
    ]
}
