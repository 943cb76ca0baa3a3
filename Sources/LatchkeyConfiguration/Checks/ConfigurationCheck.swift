internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// Checks a configuration as a whole, after its values were read one by one.
struct ConfigurationCheck {
    let configuration: Configuration
    let origins: [String: ConfigurationOrigin]
    /// The keys with a secret in the configuration file itself, rather than in a file that it names.
    let secretsInFile: Set<String>
    var context: ReadingContext

    func origin(_ key: String) -> ConfigurationOrigin { origins[key] ?? .none }

    mutating func refuse(if isBroken: Bool = true, _ key: String, _ reason: String, _ remedy: String) {
        if isBroken { context.problems.add(key, origin(key), reason, remedy) }
    }

    /// - Parameter given: The keys that the file or the environment gives, with valid values or not.
    mutating func requireWhatServingNeeds(given: Set<String>) {
        let (hasURL, hasClients) = (configuration.zenkey.discoveryURL != nil, !configuration.zenkey.clients.isEmpty)
        // With other providers, carriers are optional, but not half of their settings.
        let needsCarriers = !given.contains("providers") || hasURL || hasClients
        // Browsers sign in without one. What a refused provider would have had is not known.
        let isUnknown = given.contains("providers") && configuration.providers.isEmpty
        let mayLackKeys = (configuration.hasBrowserSignIns || isUnknown) && !hasClients
        let needed = [
            (
                "api_keys", configuration.apiKeys.isEmpty && !mayLackKeys,
                "without it no app can call the API"
            ),
            ("zenkey.discovery_url", needsCarriers && !hasURL, "without it no carrier can be found"),
            ("zenkey.clients", needsCarriers && !hasClients, "without it no user can sign in"),
            ("providers", given.contains("providers") && configuration.providers.isEmpty, "it is empty"),
        ]
        for (key, isMissing, why) in needed where isMissing {
            let variable = ConfigurationReference.environmentName(of: key)
            // A refused value has been reported; an empty list has not.
            if !given.contains(key) || !context.problems.problems.contains(where: { $0.key.hasPrefix(key) }) {
                let others = key.hasPrefix("zenkey.") && !given.contains("providers") ? "; or configure providers" : ""
                refuse(key, "is missing; \(why)", "set \(variable), or the key in the file\(others)")
            }
        }
    }

    /// Tokens are stored encrypted or not at all. The demonstration generates a key.
    mutating func requireVaultKey(given: Set<String>) {
        let key = "encryption_keys"
        guard let provider = configuration.providers.first(where: \.rules.storesTokens), configuration.vaultKeys.isEmpty
        else { return }
        // A refused value has been reported; an empty list has not.
        let isReported = [key, "vault.encryption_keys"].contains { key in
            given.contains(key) && context.problems.problems.contains { $0.key.hasPrefix(key) }
        }
        guard !isReported else { return }
        refuse(
            key, "is missing; providers.\(provider.id) has store_tokens, and tokens are stored encrypted only",
            "set \(ConfigurationReference.environmentName(of: key))_FILE to a file with 64 hexadecimal digits (openssl "
                + "rand -hex 32), or the key in the file; or remove store_tokens")
    }

    /// What only a feature does that this build leaves out.
    mutating func refuseWhatTheBuildLacks() {
        for demand in configuration.settings.unmetDemands(of: configuration) {
            refuse(demand.key, demand.reason, demand.remedy)
        }
    }

    /// Values that are valid each by itself and contradict each other.
    mutating func refuseContradictions() {
        let sessions = configuration.sessions
        refuse(
            if: sessions.access > sessions.refresh, "sessions.access_lifetime",
            "is longer than sessions.refresh_lifetime", "make it shorter")
        let trusted = configuration.zenkey.trustedHosts
        for (network, issuer) in configuration.zenkey.issuers where !trusted.contains(issuer.host) {
            refuse(
                "zenkey.issuers",
                "the issuer of \(network.text) is on a host that zenkey.trusted_issuers does not list",
                "add its host there")
        }
        for (key, reason, remedy) in configuration.settings.groups.flatMap({ $0.contradictions(in: configuration) }) {
            refuse(key, reason, remedy)
        }
        refuseSharedPorts()
        refuseBadScopes()
        refuseEarlyRequests()
        refuseUnsignedRequests()
        refuseUnusableMutualTLS()
        for (key, types) in idTokenTypes where types.isEmpty {
            refuse(key, "is empty, so that no ID token could be accepted", "remove it, or list a type")
        }
        refuseSharedIssuers()
        refuseUnusableCertificates("outbound.ca_bundle", configuration.outbound.certificateAuthorities)
        refuseUnusableCertificates("outbound.additional_ca_bundle", configuration.outbound.additionalAuthorities)
    }

    /// A user is known by issuer and subject. Two providers of one issuer are one, so both must be asked at the same
    /// addresses. An oauth2 provider has no ID tokens that would show whose users are meant.
    private mutating func refuseSharedIssuers() {
        let trusted = configuration.zenkey.trustedHosts
        for (index, provider) in configuration.providers.enumerated() where provider.kind != .oauth2 {
            let isImitated = configuration.providers[..<index].contains {
                $0.kind != .oauth2 && $0.mayShareIssuer(with: provider) && !$0.hasSameAddresses(as: provider)
            }
            refuse(
                if: isImitated, "providers.\(provider.id).issuer",
                "is also the issuer of another provider, which has other addresses, so that each could sign in as the "
                    + "other's users",
                "keep one of the two providers, or give both the same metadata_url and endpoints")
        }
        let counts = configuration.providers.reduce(into: [:]) { $0[$1.issuer, default: 0] += 1 }
        for provider in configuration.providers where provider.kind == .oauth2 {
            let isOfTenant = configuration.providers.contains {
                $0.rules.tenants?.tenant(of: provider.issuer.text) != nil
            }
            guard counts[provider.issuer] != 1 || trusted.contains(provider.issuer.host) || isOfTenant else {
                continue
            }
            refuse(
                "providers.\(provider.id).issuer",
                "may also be the issuer of another provider, whose users could then be confused with its "
                    + "own", "give an issuer that only this provider has")
        }
    }

    private mutating func refuseEarlyRequests() {
        let zenkey = configuration.zenkey
        let uses = [
            ("zenkey.par", zenkey.rules.extensions.pushedAuthorizationRequests, "pushed to"),
            ("zenkey.request_object", zenkey.rules.extensions.signedRequestObjects, "signed for"),
        ]
        for (key, use, what) in uses where use == .always && zenkey.authorizationURL != nil {
            refuse(
                key,
                "is always, but zenkey.authorization_url takes requests before the carrier is known that they would be "
                    + what, "make it auto, or remove zenkey.authorization_url")
        }
    }

    private mutating func refuseUnsignedRequests() {
        for provider in configuration.allProviders where provider.extensions.signedRequestObjects == .always {
            guard let client = provider.clients.first(where: { $0.signingKey == nil }) else { continue }
            refuse(
                provider.keys.settings + ".request_object",
                "is always, but the client \(client.id.text) has no private_key to sign with",
                "give the client a private_key_file, or make it auto")
        }
        for provider in configuration.providers where provider.mustSignBackchannelRequests {
            guard let client = provider.clients.first(where: { $0.signingKey == nil }) else { continue }
            refuse(
                "providers.\(provider.id).backchannel_token_delivery_mode",
                "is set beside a profile, whose backchannel requests are signed, but the client \(client.id.text) has "
                    + "no private_key", "give the client a private_key_file, or set it to off")
        }
    }

    /// The accepted types of ID tokens, with the keys that list them. Operators have those of their provider.
    var idTokenTypes: [(key: String, types: [IDTokenType])] {
        var paths: Set<String> = []
        let providers = configuration.providers.filter { $0.kind != .oauth2 && paths.insert($0.path).inserted }
        return [("zenkey.id_token_types", configuration.zenkey.rules.idTokenTypes)]
            + providers.map { ("providers.\($0.path).id_token_types", $0.idTokenTypes) }
    }

    private mutating func refuseBadScopes() {
        let clients = Set(configuration.allClients.map(\.id))
        var names: Set<String> = []
        for (index, key) in configuration.apiKeys.enumerated() {
            let name = "api_keys[\(index)]"
            if let other = key.name, !names.insert(other).inserted {
                context.problems.add(name, origin("api_keys"), "has the name of another key", "give it another name")
            }
            if !clients.isEmpty, !clients.isSuperset(of: key.clients) {
                context.problems.add(
                    name, origin("api_keys"), "names a client that no provider has",
                    "add the client to zenkey.clients or to its provider")
            }
        }
    }

    private mutating func refuseUnusableCertificates(_ key: String, _ path: String?) {
        guard let path else { return }
        let remedy = "give the path of a readable file of PEM certificates"
        do throws(FileReader.ReadError) {
            let contents = try context.files.contents(of: path, limit: 16 << 20)
            guard !contents.bytes.starts(with: Self.certificateMark) else { return }
            let text = String(decoding: contents.bytes, as: UTF8.self)
            let marks = ["-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----"]
            refuse(if: !marks.contains(where: text.contains), key, "the file has no certificate", remedy)
        } catch {
            refuse(key, "the file \(error.reason)", remedy)
        }
    }

    private static let certificateMark = Array("-----BEGIN CERTIFICATE-----".utf8)

    /// Refuses a port that two listening sockets of one address would share: the server could not start.
    mutating func refuseSharedPorts() {
        let (http, tls, metrics) = (configuration.http, configuration.tls, configuration.metrics)
        let hostsOfTLS = tls.hosts.isEmpty ? http.hosts : tls.hosts
        var sockets: [(key: String, port: UInt16, hosts: [String])] = [("http.port", http.port, http.hosts)]
        if tls.isOn {
            sockets.append(("tls.port", tls.port, hostsOfTLS))
            if let port = tls.redirectPort { sockets.append(("tls.redirect_port", port, hostsOfTLS)) }
        }
        if let port = metrics.port { sockets.append(("metrics.port", port, metrics.hosts)) }
        for (index, socket) in sockets.enumerated() where socket.port != 0 {
            let other = sockets[..<index].first { $0.port == socket.port && overlap($0.hosts, socket.hosts) }
            if let other { refuse(socket.key, "is the port of \(other.key), on the same address", "give another one") }
        }
    }

    /// Whether two lists of addresses have one in common. A wildcard has all addresses of its family; that of IPv6, if
    /// it is alone, all addresses.
    private func overlap(_ left: [String], _ right: [String]) -> Bool {
        func covers(_ hosts: [String], _ host: String, _ other: String) -> Bool {
            switch host {
            case "0.0.0.0": !other.contains(":")
            case "::": hosts.count == 1 || other.contains(":") || other == "localhost"
            case "localhost": ["127.0.0.1", "::1"].contains(other)
            default: host == other
            }
        }
        return left.contains { one in
            right.contains { other in covers(left, one, other) || covers(right, other, one) }
        }
    }
}

extension Configuration.Provider {
    /// Whether an ID token can be of both providers.
    fileprivate func mayShareIssuer(with other: Self) -> Bool {
        if let tenants = rules.tenants {
            if let others = other.rules.tenants { return tenants.issuer(of: "t") == others.issuer(of: "t") }
            return tenants.tenant(of: other.issuer.text) != nil
        }
        return other.rules.tenants.map { $0.tenant(of: issuer.text) != nil } ?? (issuer == other.issuer)
    }

    /// Whether the metadata and the endpoints are configured to be at the same addresses.
    fileprivate func hasSameAddresses(as other: Self) -> Bool {
        rules.metadataURL == other.rules.metadataURL && rules.endpoints == other.rules.endpoints
    }
}
