internal import OpenIDConnect

/// Looks at a configuration as a whole, after its values were read one by one.
struct ConfigurationCheck {
    let configuration: Configuration
    /// Where the keys that are set stand.
    let origins: [String: ConfigurationOrigin]
    var context: ReadingContext

    func origin(_ key: String) -> ConfigurationOrigin { origins[key] ?? .none }

    mutating func refuse(_ key: String, _ reason: String, _ remedy: String) {
        context.problems.add(key, origin(key), reason, remedy)
    }

    /// - Parameter given: The keys that stand in the file or the environment, be their values good or not.
    mutating func requireWhatServingNeeds(given: Set<String>) {
        let (hasURL, hasClients) = (configuration.zenkey.discoveryURL != nil, !configuration.zenkey.clients.isEmpty)
        // Whoever has other providers may do without carriers, but not have half of what carriers need.
        let needsCarriers = !given.contains("providers") || hasURL || hasClients
        let needed = [
            ("api_keys", configuration.apiKeys.isEmpty, "without it no app could call the API"),
            ("zenkey.discovery_url", needsCarriers && !hasURL, "without it no carrier can be found"),
            ("zenkey.clients", needsCarriers && !hasClients, "without one nobody can sign in"),
            ("providers", given.contains("providers") && configuration.providers.isEmpty, "there is none in it"),
        ]
        for (key, isMissing, why) in needed where isMissing {
            let variable = ConfigurationReference.environmentName(of: key)
            // A value that was refused was reported, except an empty list, with which nothing else is wrong.
            if !given.contains(key) || !context.problems.problems.contains(where: { $0.key.hasPrefix(key) }) {
                refuse(key, "is missing; \(why)", "set \(variable), or the key in the file")
            }
        }
    }

    /// Tokens are stored encrypted or not at all. The demonstration makes its own key.
    mutating func requireVaultKey(given: Set<String>) {
        let key = "vault.encryption_keys"
        guard let provider = configuration.providers.first(where: \.storesTokens),
            configuration.vault.encryptionKeys.isEmpty
        else { return }
        // A value that was refused was reported, except an empty list.
        guard !given.contains(key) || !context.problems.problems.contains(where: { $0.key.hasPrefix(key) }) else {
            return
        }
        refuse(
            key, "is missing; the tokens of providers.\(provider.id) are to be stored, which is done encrypted only",
            "set \(ConfigurationReference.environmentName(of: key))_FILE to a file with 64 hexadecimal digits (openssl "
                + "rand -hex 32), or the key in the file; or remove store_tokens")
    }

    /// Values that are good each by itself and cannot stand together.
    mutating func refuseContradictions() {
        let sessions = configuration.sessions
        if sessions.accessLifetime > sessions.refreshLifetime {
            refuse("sessions.access_lifetime", "is longer than sessions.refresh_lifetime", "make it shorter")
        }
        let trusted = configuration.zenkey.trustedHosts
        for (network, issuer) in configuration.zenkey.issuers where !trusted.contains(issuer.host) {
            refuse(
                "zenkey.issuers",
                "the issuer of \(network.text) is on a host that zenkey.trusted_issuers does not have",
                "add its host there")
        }
        refuseBadScopes()
        for provider in configuration.providers where provider.kind == .oauth2 {
            let others = configuration.providers.filter { $0.id != provider.id && $0.issuer == provider.issuer }
            guard !others.isEmpty || trusted.contains(provider.issuer.host) else { continue }
            refuse(
                "providers.\(provider.id).issuer",
                "may also be that of another provider or carrier, whose users it would have",
                "give one that is this provider's alone")
        }
        if let path = configuration.outbound.certificateAuthorities { refuseUnusableCertificates(path) }
    }

    private mutating func refuseBadScopes() {
        let clients = Set(configuration.allClients.map(\.id))
        var names: Set<String> = []
        for (index, key) in configuration.apiKeys.enumerated() {
            let name = "api_keys[\(index)]"
            if let other = key.name, !names.insert(other).inserted {
                context.problems.add(name, origin("api_keys"), "has the name of another key", "give it one of its own")
            }
            if !clients.isEmpty, !clients.isSuperset(of: key.clients) {
                context.problems.add(
                    name, origin("api_keys"), "is for a client that no provider has",
                    "add the client to zenkey.clients or to its provider")
            }
        }
    }

    private mutating func refuseUnusableCertificates(_ path: String) {
        let key = "outbound.ca_bundle"
        let remedy = "give the path of a readable file of PEM certificates"
        do throws(FileReader.Failure) {
            let contents = try context.files.contents(of: path, limit: 16 << 20)
            guard !contents.bytes.starts(with: Self.certificateMark) else { return }
            let text = String(decoding: contents.bytes, as: UTF8.self)
            if !text.contains("-----BEGIN CERTIFICATE-----") && !text.contains("-----BEGIN TRUSTED CERTIFICATE-----") {
                refuse(key, "the file has no certificate", remedy)
            }
        } catch {
            refuse(key, "the file \(error.reason)", remedy)
        }
    }

    private static let certificateMark = Array("-----BEGIN CERTIFICATE-----".utf8)
}
