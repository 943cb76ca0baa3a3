internal import OpenIDConnect
internal import Primitives

// Warnings of what others could make use of.
extension ConfigurationCheck {
    /// Whoever is believed for whom he asks is limited by nobody's address but the one he makes up.
    mutating func warnOfProxies() {
        let http = configuration.http
        for range in http.trustedProxies where range.isOfManyOwners {
            warn(
                "http.trusted_proxies", "has \(range), and whoever is there may pass for any address",
                "name the proxies' own addresses or networks")
        }
        if http.limits.connectionsPerAddress != nil, !http.trustedProxies.isEmpty {
            warn(
                "http.limits.max_connections_per_address", "counts the connections of a proxy as those of one client",
                "set it to 0 behind a proxy, and limit connections there")
        }
        if configuration.publicURL?.scheme == .https, !configuration.tls.isOn, http.trustedProxies.isEmpty,
            configuration.rateLimits
        {
            warn(
                "http.trusted_proxies",
                "is not set, and public_url is that of a proxy in front: limits on addresses take "
                    + "all of its clients for one, or for none where it is on this machine",
                "name the proxy's address")
        }
    }

    /// Rates that are off one by one.
    mutating func warnOfMissingLimits() {
        guard configuration.rateLimits else { return }
        let rules = configuration.rateLimitRules
        let missing = [
            ("rate_limit_rules.per_address", rules.perAddress == nil, "requests"),
            ("rate_limit_rules.sign_ins_per_address", rules.signInsPerAddress == nil, "sign-ins"),
            ("rate_limit_rules.starts_per_address", rules.startsPerAddress == nil, "starts of sign-ins"),
        ]
        for (key, isMissing, what) in missing where isMissing {
            warn(key, "one address may send as many \(what) as it likes", "set a rate such as 1000/10s")
        }
    }

    /// The secrets of `Config/latchkey.example.yaml` and of the documentation are everybody's.
    mutating func warnOfSamples() {
        let remedy = "make one of your own (openssl rand -hex 32)"
        let reason = "is a sample from the documentation, which everybody knows"
        if configuration.apiKeys.contains(where: \.isSample) { warn("api_keys", "a key \(reason)", remedy) }
        if configuration.zenkey.clients.contains(where: \.hasSampleSecret) {
            warn("zenkey.clients", "a client's secret \(reason)", "give the one that the carriers gave to the app")
        }
        if configuration.providers.flatMap(\.clients).contains(where: \.hasSampleSecret) {
            warn("providers", "a client's secret \(reason)", "give the one that the provider gave to the app")
        }
        let keys = [
            ("vault.encryption_keys", configuration.vault.encryptionKeys),
            ("transactions.encryption_keys", configuration.transactions.encryptionKeys),
        ]
        for (name, keys) in keys where keys.contains(where: { Samples.encryptionKeys.contains($0.exposed) }) {
            warn(name, "a key \(reason)", remedy)
        }
    }

    mutating func warnOfOpenDatabase() {
        guard let path = configuration.database.url.path, context.files.isReadableByAll(path) else { return }
        warn("database.url", "every user of this machine can read the database", "take the right away (chmod o-r)")
    }

    /// What is held to a client is held to its id, and two providers may know clients of one id.
    mutating func warnOfSharedClients() {
        var holders: [ClientID: [String]] = [:]
        for client in configuration.zenkey.clients { holders[client.id, default: []].append("zenkey") }
        for provider in configuration.providers {
            for client in provider.clients { holders[client.id, default: []].append(provider.id) }
        }
        let shared = holders.filter { $0.value.count > 1 }
        let remedy = "have one of the providers give the app another client_id"
        for (index, key) in configuration.apiKeys.enumerated() {
            for client in key.clients {
                guard let names = shared[client]?.joined(separator: ", ") else { continue }
                context.warnings.add(
                    "api_keys[\(index)]", origin("api_keys"),
                    "is for the client \(client.text), which is one of several providers (\(names)): it is good for the "
                        + "users of all of them", remedy)
            }
        }
        for client in Set(configuration.allClients.filter { !$0.allowedOrigins.isEmpty }.map(\.id)).sorted(by: {
            $0.text < $1.text
        }) {
            guard let names = shared[client] else { continue }
            warn(
                names.contains("zenkey") ? "zenkey.clients" : "providers",
                "allowed_origins of the client \(client.text) are good for the users of several providers "
                    + "(\(names.joined(separator: ", ")))", remedy)
        }
    }

    /// Beyond these, what was stolen is good for long.
    mutating func warnOfLongLives() {
        if configuration.sessions.accessLifetime > .seconds(86_400) {
            warn(
                "sessions.access_lifetime",
                "a session token is good for more than a day, also for whoever has stolen it",
                "make it shorter: apps refresh their sessions")
        }
        if configuration.idToken.clockSkew > .seconds(300) {
            warn(
                "id_token.clock_skew", "ID tokens are taken for more than five minutes after they have expired",
                "make it shorter, and see that this machine's clock is right")
        }
    }
}

/// What stands in the example file and the documentation in the place of secrets.
enum Samples {
    static let texts: Set<String> = [
        "demo-key", "test", "hello", "your-client-secret", "example-secret", "zoom-secret", "secret", "changeme",
    ]

    /// SHA-256 of `demo-key`, `test` and `hello`.
    static let hashes: Set<[UInt8]> = Set(
        [
            "c48a01f49fd0f2cc404bc3cbbc80e91457a3d41bb429a695243de4c61794155c",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        ].compactMap { Hexadecimal.decode($0.utf8) })

    static let encryptionKeys: Set<String> = [
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100",
    ]
}

extension APIKey {
    fileprivate var isSample: Bool {
        switch proof {
        case .plain(let key): Samples.texts.contains(key.exposed)
        case .sha256(let hash): Samples.hashes.contains(hash)
        }
    }
}

extension Configuration.Client {
    fileprivate var hasSampleSecret: Bool {
        switch authentication {
        case .clientSecretBasic(let secret), .clientSecretPost(let secret): Samples.texts.contains(secret.exposed)
        case .privateKeyJWT, .signedClientSecret: false
        }
    }
}
