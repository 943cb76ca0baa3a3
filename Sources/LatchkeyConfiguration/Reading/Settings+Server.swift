internal import HTTPServer
internal import LatchkeyAPI
internal import OpenIDConnect

/// The keys of connections, received and made, of what is measured, and of operation.
extension Settings {
    static let http: [Setting<Configuration>] = [
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
            "http.client_port_field", .optional(.headerName), \.requestLimits.proxies.portField,
            "The field in which the trusted proxies write the client's port, for telco_finder.by_address."
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
            "http.limits.max_incomplete_request_bytes", .size(4 << 20...64 << 30), \.http.limits.incompleteBytes,
            "Memory for requests that have not arrived in full, for all connections together. Beyond it, the oldest of "
                + "the subnet with the most bytes are answered 503."),
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
            "Between two requests on a connection. Longer than a proxy in front keeps its connections."),
        Setting(
            "http.timeouts.write", .duration(1...3600), \.http.timeouts.write,
            "For a client to receive a response."),
        Setting(
            "http.timeouts.drain", .duration(0...3600), \.http.drainTimeout,
            "From SIGTERM until the remaining connections are closed."),
    ]

    static let tls: [Setting<Configuration>] = [
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
            "The address or addresses to listen on for HTTPS; by default http.host."),
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

    static let outbound: [Setting<Configuration>] = [
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
            "Connections to one host at the same time, so that a provider that hangs does not delay the others."),
        Setting(
            "outbound.max_requests_per_carrier", formerly: "outbound.per_carrier_requests", .integer(1...65_536),
            \.outbound.bulkhead.maximumInFlight,
            "Requests to one provider that are in progress or wait for a connection; a sign-in beyond them is answered "
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
            "Allows providers on private addresses."),
        Setting(
            "outbound.ca_bundle", .optional(.path), \.outbound.certificateAuthorities,
            "A file of PEM certificates to trust instead of the system's."),
        Setting(
            "outbound.additional_ca_bundle", .optional(.path), \.outbound.additionalAuthorities,
            "A file of PEM certificates to trust besides the system's, or besides ca_bundle's: such as that of "
                + "your own certificate authority."),
        Setting(
            "outbound.proxy", .optional(.proxyURL), \.outbound.proxy, isSecret: true,
            "The http:// URL of a proxy for outbound requests; without a port, 1080. It may hold a user name and a "
                + "password, percent-encoded."),
    ]

    static let metrics: [Setting<Configuration>] = [
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

    static let operation: [Setting<Configuration>] = [
        Setting(
            "compat.android", .flag(), \.compatibility.android,
            "Answers as the published Android example expects: the error of an unknown user is unlinked_user, and the "
                + "attributes in the profile are objects with a value. The iOS example and Latchkey's own clients do "
                + "not understand such a profile."),
        Setting("log.level", .choice, \.log.level, "The lowest severity that is logged.").reloaded(.value),
        Setting("log.format", .choice, \.log.format, "text for people, json for programs."),
        Setting(
            "debug.memory_dumps", .flag(), \.allowsMemoryDumps,
            "Lets core dumps, debuggers and profilers of the same user read the server's memory, which has secrets."),
    ]
}
