internal import HTTPServer
internal import LatchkeyAPI
internal import OpenIDConnect
internal import Primitives
internal import SignIn
internal import StorageModel

// Warnings of settings that others could exploit.
extension ConfigurationCheck {
    /// A trusted proxy can claim any client address, and so escape the limits on addresses.
    mutating func warnOfProxies() {
        let proxies = configuration.requestLimits.proxies.ranges
        for range in proxies where range.isTooBroadToTrust {
            warn(
                "http.trusted_proxies", "has \(range), where anyone can claim any client address",
                "name the proxies' own addresses or networks")
        }
        warnOfConnectionShare()
        if configuration.publicURL?.scheme == .https, !configuration.tls.isOn, proxies.isEmpty, configuration.rateLimits
        {
            warn(
                "http.trusted_proxies",
                "is not set although public_url leads to a reverse proxy: all its clients share the limits of one "
                    + "address, or have no limits if the proxy is on this machine", "name the proxy's address")
        }
    }

    /// One address should not be able to take all connections. By default it cannot.
    private mutating func warnOfConnectionShare() {
        let key = "http.limits.max_connections_per_address"
        guard configuration.http.connectionShare != .automatic else { return }
        let limits = configuration.serverLimits
        let share = limits.connectionsPerAddress ?? .max
        if share >= limits.connections {
            warn(
                key, "one address may take all connections",
                "set it to auto, which does not limit the proxies of http.trusted_proxies, or below "
                    + "http.limits.max_connections")
        } else if share < limits.connections / 4, !configuration.requestLimits.proxies.ranges.isEmpty {
            warn(
                key, "counts all connections of a proxy for one client",
                "set it to auto, and limit the connections of clients at the proxy")
        }
    }

    mutating func warnOfMissingLimits() {
        guard configuration.rateLimits else { return }
        for limit in RateLimit.all where configuration.requestLimits.quotas[limit] == nil {
            guard let risk = limit.risk else { continue }
            warn("rate_limits." + limit.key, risk, "set a rate such as \(limit.example)")
        }
    }

    /// The secrets of `Config/latchkey.example.yaml` and of the documentation are public.
    mutating func warnOfSamples() {
        let remedy = "generate one (openssl rand -hex 32)"
        let doubtOfKey = configuration.apiKeys.lazy.compactMap(\.doubt).first
        if let doubtOfKey { warn("api_keys", "a key \(doubtOfKey)", remedy) }
        let clients = configuration.providers.map { ("\($0.keys.settings).clients", "providers", $0.clients) }
        for (name, section, clients) in [("zenkey.clients", "zenkey.clients", configuration.zenkey.clients)] + clients {
            for client in clients {
                let secret = client.secret.map(\.exposed)
                for (part, doubt) in [
                    ("id", Samples.doubt(client.id.text)), ("secret", secret.flatMap(Samples.doubtOfSecret)),
                ] {
                    guard let doubt else { continue }
                    context.warnings.add(
                        name, origin(section), "a client's \(part) \(doubt)", "give the app's own \(part)")
                }
            }
        }
        let keys = [
            ("encryption_keys", configuration.encryptionKeys),
            ("vault.encryption_keys", configuration.formerVaultKeys),
            ("transactions.encryption_keys", configuration.signingKeys.encryptionKeys),
        ]
        for (name, keys) in keys where keys.contains(where: { Samples.encryptionKeys.contains($0.id) }) {
            warn(name, "a key \(Samples.reason)", remedy)
        }
    }

    /// Not for the carriers, whose guides show this type.
    mutating func warnOfIDTokenTypes() {
        for (key, types) in idTokenTypes where types.contains(.accessToken) && !key.hasPrefix("zenkey.") {
            context.warnings.add(
                key, origin("providers"),
                "at+jwt is the type of access tokens, which then differ from ID tokens by their claims alone",
                "remove at+jwt unless the provider's ID tokens have it")
        }
    }

    /// Settings for providers that deviate from the specifications. Each takes a defence away.
    mutating func warnOfDeviations() {
        for provider in configuration.providers {
            for (name, reason, remedy) in provider.rules.lostDefences(hasIDTokens: provider.kind == .oidc) {
                let key = "providers.\(provider.id).\(name)"
                guard let (preset, section) = context.ofPresets[key], name != "tenants" else {
                    context.warnings.add(key, origin("providers"), reason, remedy)
                    continue
                }
                context.warnings.add(
                    key, section, reason,
                    "nothing to do: the preset \(preset) says so, because the provider demands it")
            }
        }
    }

    /// Which networks there are is known to the discovery service only, so one warning is for all.
    mutating func warnOfNetworks() {
        guard configuration.zenkey.discoveryURL != nil, configuration.zenkey.issuers.isEmpty else { return }
        warn(
            "zenkey.issuers",
            "no network is pinned to its issuer: the discovery service says whose users a network's are, and where the "
                + "issuer publishes no OpenID configuration, it is trusted at the first sign-in",
            "list the issuer of each network")
    }

    mutating func warnOfOpenDatabase() {
        guard let path = configuration.database.url.path, context.files.isReadableByAll(path) else { return }
        warn("database.url", "every user of this machine can read the database", "remove the permission (chmod o-r)")
    }

    /// Keys and origins are limited to clients by id, and clients of two providers may have the same id.
    mutating func warnOfSharedClients() {
        var holders: [ClientID: [String]] = [:]
        for provider in configuration.allProviders {
            for client in provider.clients { holders[client.id, default: []].append(provider.id) }
        }
        let shared = holders.filter { $0.value.count > 1 }
        let remedy = "register the app with another client_id at one of the providers"
        for (index, key) in configuration.apiKeys.enumerated() {
            for client in key.clients {
                guard let names = shared[client]?.joined(separator: ", ") else { continue }
                context.warnings.add(
                    "api_keys[\(index)]", origin("api_keys"),
                    "is for the client \(client.text), which several providers have (\(names)): it gives access to the "
                        + "users of all of them", remedy)
            }
        }
        for client in Set(configuration.allClients.filter { !$0.allowedOrigins.isEmpty }.map(\.id)).sorted(by: {
            $0.text < $1.text
        }) {
            guard let names = shared[client] else { continue }
            warn(
                names.contains("zenkey") ? "zenkey.clients" : "providers",
                "allowed_origins of the client \(client.text) apply to the users of several providers "
                    + "(\(names.joined(separator: ", ")))", remedy)
        }
    }

    /// Beyond these lifetimes, a stolen token is usable for long.
    mutating func warnOfLongLives() {
        warn(
            if: configuration.sessions.access > 86_400, "sessions.access_lifetime",
            "a stolen session token is usable for more than a day", "make it shorter: apps refresh their sessions")
        warn(
            if: configuration.idToken.clockSkewSeconds > 300, "id_token.clock_skew",
            "ID tokens are accepted for more than five minutes after they expire",
            "make it shorter, and check this machine's clock")
    }
}

/// Secrets and ids that no provider has given: those of the example file and the documentation, and texts that stand
/// for one.
enum Samples {
    static let texts: Set<String> = [
        "demo-key", "test", "hello", "your-client-secret", "example-secret", "zoom-secret", "secret", "changeme",
    ]
    fileprivate static let reason = "is a sample from the documentation, which is public"

    /// Those of API keys, of which there are samples as hashes.
    static let hashes = Set(["demo-key", "test", "hello"].map { TokenHash(sha256Of: $0).bytes })

    static let encryptionKeys: Set<String> = Set(
        [
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100",
        ].compactMap { EncryptionKey(hexadecimal: $0)?.id })

    private static let placeholders: Set = ["todo", "tbd", "changeme", "change-me", "change_me", "placeholder"]
    private static let beginnings = ["your-", "your_", "replace-with", "replace_with", "xxxx"]
    private static let brackets = [("<", ">"), ("${", "}"), ("{{", "}}")]

    /// What is wrong with a text in the place of a secret or an id; nil if nothing shows that.
    static func doubt(_ text: String) -> String? {
        func isBetween(_ ends: (String, String)) -> Bool { text.hasPrefix(ends.0) && text.hasSuffix(ends.1) }
        if text.utf8.count > 1, isBetween(("\"", "\"")) || isBetween(("'", "'")) {
            return "is in quotes, which are a part of it"
        }
        let words = text.lowercased()
        let isPlaceholder =
            placeholders.contains(words) || beginnings.contains(where: words.hasPrefix)
            || brackets.contains(where: isBetween)
        return isPlaceholder ? "is a placeholder" : nil
    }

    static func doubtOfSecret(_ text: String) -> String? { texts.contains(text) ? reason : doubt(text) }
}

extension APIKey {
    fileprivate var doubt: String? {
        switch proof {
        case .plain(let key): Samples.doubtOfSecret(key.exposed)
        case .sha256(let hash): Samples.hashes.contains(hash) ? Samples.reason : nil
        }
    }
}

extension Configuration.Client {
    fileprivate var secret: Secret? {
        switch authentication {
        case .clientSecretBasic(let secret, _), .clientSecretPost(let secret): secret
        case .privateKeyJWT, .signedClientSecret, .publicClient, .tlsClientAuth, .selfSignedTLSClientAuth: nil
        }
    }
}
