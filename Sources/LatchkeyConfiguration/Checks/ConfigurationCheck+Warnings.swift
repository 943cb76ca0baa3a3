internal import OpenIDConnect
internal import Primitives
internal import SignIn
internal import StorageModel

extension ConfigurationCheck {
    mutating func warn(if isUnsafe: Bool = true, _ key: String, _ reason: String, _ remedy: String) {
        if isUnsafe { context.warnings.add(key, origin(key), reason, remedy) }
    }

    /// Warns of settings that may be intended, but remove a defence or have no effect.
    mutating func warnOfUnsafeSettings(_ document: ConfigurationDocument?) {
        warnOfReach()
        warnOfTLSWithoutEffect()
        warnOfProxies()
        warnOfMissingLimits()
        warnOfSecrets(document)
        warnOfSamples()
        warnOfOpenDatabase()
        warnOfClients()
        warnOfSharedKeyIDs()
        warnOfClientCertificates()
        warnOfScopes()
        warnOfSharedClients()
        warnOfIDTokenTypes()
        warnOfDeviations()
        warnOfNetworks()
        warnOfLongLives()
        warnOfRegistration()
        for (key, reason, remedy) in configuration.settings.groups.flatMap({ $0.warnings(in: configuration) }) {
            warn(key, reason, remedy)
        }
    }

    private mutating func warnOfRegistration() {
        warn(
            if: configuration.registration.mode == .automatic && !configuration.registration.requiredAttributes.isEmpty,
            "registration_rules.required_attributes", "has no effect while registration is automatic",
            "set registration to required")
    }

    private mutating func warnOfReach() {
        let isPublic = !configuration.http.hosts.allSatisfy(Self.isLoopback)
        if isPublic, configuration.publicURL?.scheme != .https {
            warn(
                "http.host", "other machines can reach plain HTTP, and public_url is not https",
                "set public_url to the https URL of the reverse proxy, or listen on 127.0.0.1")
        } else if isPublic, configuration.tls.isOn {
            warn(
                "http.host", "other machines can reach plain HTTP, beside HTTPS",
                "set http.host to 127.0.0.1, and tls.host to the address for HTTPS")
        }
        warn(
            if: configuration.tls.isOn && configuration.publicURL?.scheme != .https, "public_url",
            "is not https although HTTPS is served: cookies are not limited to HTTPS, and links do not lead to it",
            "set public_url to the https URL of this server")
        warn(
            if: configuration.endpointPolicy.allowsLoopbackHTTP, "allow_loopback_http",
            "providers on loopback addresses may use plain HTTP", "set it to false in production")
        let hosts = configuration.endpointPolicy.httpHosts
        if !hosts.isEmpty {
            let (reason, remedy) = Configuration.warning(
                ofPlainHTTPTo: hosts, exposing: "the clients' secrets, and sign in as any user")
            warn("plain_http_hosts", reason, remedy)
            warn(
                if: !configuration.outbound.allowsPrivateNetworks && configuration.outbound.proxy == nil,
                "plain_http_hosts", "has no effect while outbound.allow_private_networks is false", "set it to true")
        }
        warn(
            if: configuration.outbound.allowsPrivateNetworks, "outbound.allow_private_networks",
            "a provider's URL may lead to machines of the private network", "set it to false unless a provider is there"
        )
        warn(
            if: !configuration.rateLimits, "rate_limits.enabled", "rate limits are off", "set it to on in production")
        for (key, url) in configuration.database.postgresURLs where !url.isConfidential {
            warn(
                key,
                "the connection to the PostgreSQL server may be unencrypted, which exposes the password and the data",
                "add sslmode=verify-full to the URL")
        }
        warn(
            if: configuration.database.synchronous == .normal, "database.synchronous",
            "a loss of power may undo the last sign-ins and sign-outs", "set it to full if that matters")
    }

    private mutating func warnOfSecrets(_ document: ConfigurationDocument?) {
        var secrets = ["api_keys", "zenkey.clients", "providers", "outbound.proxy"]
        secrets += configuration.settings.ofFeatures.filter(\.isSecret).map(\.name)
        secrets += configuration.database.postgresURLs.filter(\.url.hasPassword).map(\.key)
        let inFile = secrets.filter(secretsInFile.contains)
        warn(
            if: inFile.contains("api_keys") && configuration.apiKeys.contains(where: \.isPlain), "api_keys",
            "the file has keys in plain text", "write sha256: and the key's SHA-256, or use api_keys_file")
        if document?.isReadableByAll == true, let key = inFile.first {
            warn(
                key, "the file holds secrets and every user of this machine can read it",
                "remove the permission (chmod o-r), or put the secret in a separate file (\(key)_file)")
        }
        warn(
            if: configuration.apiKeys.contains(where: \.isShort), "api_keys",
            "a key is so short that it can be guessed", "use 32 random characters or more")
    }

    private mutating func warnOfClients() {
        let clients = configuration.allProviders.filter { !$0.kind.takesProofs }.flatMap { provider in
            provider.clients.map { (name: provider.keys.clients, client: $0) }
        }
        for (name, client) in clients {
            warn(
                if: client.redirectURIs.isEmpty, name,
                "the client \(client.id.text) has no redirect_uris, so a sign-in with a code may name any redirect "
                    + "URI, and no sign-in by redirect can start", "list the app's redirect URIs in the file")
            for (uri, types) in client.clientTypes.sorted(by: { $0.key < $1.key })
            where types.contains(.web) && !types.isDisjoint(with: [.spa, .ios, .android]) {
                warn(
                    name,
                    "\(uri) of the client \(client.id.text) is for pages and for frontends that get a session_id, so "
                        + "that a link can put a page's session_id in the address",
                    "give the other frontends their own redirect URI")
            }
            warn(
                if: client.pkce == .optional, name,
                "the client \(client.id.text) may sign in without PKCE, so a stolen code is enough",
                "set pkce to required once the app sends a code_verifier")
        }
    }

    /// All keys are published in one set. A verifier that looks for a `kid` there may take the wrong key.
    private mutating func warnOfSharedKeyIDs() {
        var seen: Set<String> = []
        let keys =
            configuration.publishedKeys.map { key in
                (
                    id: key.keyID,
                    usesNetworkDiscovery: configuration.zenkey.clients.contains { $0.publishedKeys.contains(key) }
                )
            }
            + configuration.publishedDecryptionKeys.map { key in
                (id: key.keyID, usesNetworkDiscovery: configuration.zenkey.clients.contains { $0.decryptionKey == key })
            }
        for key in keys where !seen.insert(key.id).inserted {
            warn(
                key.usesNetworkDiscovery ? "zenkey.clients" : "providers",
                "two private keys have the kid \(Printable.word(key.id) ?? "of another"), and "
                    + "/.well-known/jwks.json has both",
                "give each key its own private_key_id or decryption_key_id")
        }
    }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || IPAddress(host)?.isLoopback ?? false
    }
}

extension Configuration {
    /// The warning of plain http to other machines.
    public static func warning(
        ofPlainHTTPTo hosts: [String], exposing content: String
    ) -> (reason: String, remedy: String) {
        (
            "others on the network between this machine and \(hosts.joined(separator: ", ")) can read \(content)",
            "use https, unless the network is yours alone"
        )
    }
}

extension APIKey {
    fileprivate var isPlain: Bool {
        guard case .plain = proof else { return false }
        return true
    }

    fileprivate var isShort: Bool {
        guard case .plain(let key) = proof else { return false }
        return key.exposed.utf8.count < 16
    }
}
