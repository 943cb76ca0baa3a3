import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

// The carriers' and providers' responses, by the rules of the relying party.
extension Doctor {
    /// Whom a finding is about: a mobile carrier of discovery, or any other provider.
    enum Party: String {
        case carrier, provider
    }

    private struct Question {
        let network: MCCMNC
        let clientID: ClientID

        var subject: String { "\(network.text), client \(clientID.text)" }
    }

    /// - Parameter database: Its bindings of issuers are used, and not changed.
    func examineCarriers(_ database: Result<DatabaseExamination, StorageError>) async -> [Finding] {
        guard let discoveryURL = configuration.zenkey.discoveryURL else {
            guard configuration.providers.isEmpty else { return [] }
            return [.problem(.discovery, "zenkey.discovery_url is not set", fix: "set it")]
        }
        let recorder = ExchangeRecorder(http, clock: clock)
        let carriers = configuration.relyingParty(of: configuration.zenkey.provider)
        var findings: [Finding] = []
        if networks.isEmpty { findings += await reachDiscovery(discoveryURL, recorder) }
        let known = try? database.get().issuers
        if !questions.isEmpty { findings.append(Self.finding(known, isReadable: (try? database.get()) != nil)) }
        var seen: Set<ProviderMetadata> = []
        for question in questions {
            // One relying party per question: it caches the network, and would not ask again for another client.
            let relyingParty = RelyingParty(
                configuration: carriers, http: recorder, bindings: MemoryIssuerBindings(known ?? KnownIssuers()),
                clock: clock)
            do throws(OIDCError) {
                let provider = try await relyingParty.provider(
                    for: question.network, clientID: question.clientID, correlationID: .random(from: .system))
                findings.append(.ok(.discovery, question.subject, "discovery answers"))
                let client = configuration.zenkey.clients.first { $0.id == question.clientID }
                findings += examineAuthentication(of: client, at: provider, question.subject, key: "zenkey.clients")
                guard seen.insert(provider).inserted else { continue }
                findings.append(.ok(.metadata, question.network.text, "the issuer is \(provider.issuer)"))
                findings += examineDemands(
                    of: provider, question.network.text, carriers, of: configuration.zenkey.clients,
                    responseMode: .query, key: "zenkey")
                findings += await examineKeys(
                    of: provider, at: .carrier, for: configuration.zenkey.clients, question.network.text, relyingParty,
                    recorder)
                findings += await reachEndpoints(of: provider, question.network.text, recorder)
            } catch {
                findings.append(Self.finding(error, at: .carrier, question.subject, recorder.exchanges.last))
            }
        }
        return findings + examineHosts(recorder.exchanges)
    }

    /// What the issuers that networks name are compared with.
    private static func finding(_ known: KnownIssuers?, isReadable: Bool) -> Finding {
        guard isReadable else {
            return .warning(
                .metadata, "the database cannot be read, so the issuers that networks name are not compared with it",
                fix: "make the database readable, and run this again")
        }
        guard let known, !known.bindings.isEmpty else {
            return .ok(
                .metadata,
                "the database has no known issuers, so those that networks name are verified as at a first start")
        }
        let count = known.bindings.count == 1 ? "1 known issuer" : "\(known.bindings.count) known issuers"
        return .ok(.metadata, "the issuers that networks name are compared with the \(count) in the database")
    }

    /// Every client with the first network, and every network with the first client: this finds each fault without all
    /// pairs.
    private var questions: [Question] {
        let clients = configuration.zenkey.clients.map(\.id)
        guard let firstNetwork = networks.first, let firstClient = clients.first else { return [] }
        return clients.map { Question(network: firstNetwork, clientID: $0) }
            + networks.dropFirst().map { Question(network: $0, clientID: firstClient) }
    }

    /// The metadata and keys of the other providers. A Telco Finder is not asked for a number.
    func examineProviders() async -> [Finding] {
        let recorder = ExchangeRecorder(http, clock: clock)
        var findings: [Finding] = []
        for known in configuration.servers where known.kind != .zenkey {
            let settings = configuration.relyingParty(of: known)
            let relyingParty = RelyingParty(configuration: settings, http: recorder, clock: clock)
            guard let first = known.clients.first else { continue }
            do throws(OIDCError) {
                let provider = try await relyingParty.provider(
                    for: nil, clientID: first.id, correlationID: .random(from: .system))
                findings.append(.ok(.metadata, known.id, "the issuer is \(provider.issuer)"))
                for client in known.clients {
                    findings += examineAuthentication(
                        of: client, at: provider, known.id, key: known.kind == .camara ? nil : "providers")
                }
                if !known.isTelcoFinder {
                    findings += examineDemands(
                        of: provider, known.id, settings, of: known.clients, responseMode: known.rules.responseMode,
                        requiresIssuer: known.rules.requiresIssuer, profile: known.profile,
                        needsBrowsers: known.kind != .camara && known.rules.backchannelTokenDelivery.mode == nil,
                        key: known.keys.settings)
                    findings += examineBackchannel(of: provider, known)
                    if let profile = known.profile {
                        findings.append(.ok(.metadata, known.id, "the settings meet the profile \(profile.rawValue)"))
                    }
                    if provider.jwksURI != nil {
                        findings += await examineKeys(
                            of: provider, at: .provider, for: known.clients, known.id, relyingParty, recorder)
                    }
                }
                findings += await reachEndpoints(of: provider, and: known.apiRoot, known.id, recorder)
            } catch {
                findings.append(Self.finding(error, at: .provider, known.id, recorder.exchanges.last))
            }
        }
        return findings + examineHosts(recorder.exchanges)
    }

    private func reachDiscovery(_ url: EndpointURL, _ recorder: ExchangeRecorder) async -> [Finding] {
        let client = configuration.zenkey.clients.first?.id.text ?? ""
        let skipped = Finding.warning(
            .metadata, "there is no network to ask discovery for, so no metadata or keys were checked",
            fix: "name one with --mccmnc, such as --mccmnc 310010")
        let timeout = configuration.outbound.limits.discoveryTimeout
        let request = OutboundRequest(
            method: .get, url: url.appending(query: [("client_id", client)]), timeout: timeout,
            maximumBodyBytes: 65_536)
        do throws(OutboundError) {
            let status = try await recorder.send(request).status
            guard status < 500 else {
                let fix = "check zenkey.discovery_url or the issuer; if it is right, tell the operator of discovery"
                return [.problem(.discovery, url.host, "answers \(status)", fix: fix), skipped]
            }
            return [.ok(.discovery, url.host, "answers"), skipped]
        } catch {
            return [.problem(.discovery, url.host, error.reason, fix: error.code.remedy), skipped]
        }
    }

    /// A client with a method that the provider does not list: its token request is refused before it is sent.
    /// - Parameter key: Where the client's method is set; nil where the configuration has one method only.
    private func examineAuthentication(
        of client: Configuration.Client?, at provider: ProviderMetadata, _ subject: String, key: String?
    ) -> [Finding] {
        guard let client else { return [] }
        do throws(OIDCError) {
            try provider.check(client.authentication)
            let credentials = client.credentials
            guard credentials.dependOnEncoding else { return [] }
            return [
                .warning(
                    .metadata, subject,
                    "the id or the secret of \(client.id.text) has characters that HTTP Basic percent-encodes",
                    fix: "nothing, unless its sign-ins fail with invalid_client; \(ClientCredentials.encodingRemedy)")
            ]
        } catch {
            let ours = ClientAuthenticationMethod.allCases.map(\.rawValue).joined(separator: ", ")
            let fix =
                if let key, provider.clientAuthenticationMethods?.isEmpty != true {
                    "set the client's token_endpoint_auth_method in \(key) to one that the provider lists"
                } else if key != nil {
                    "have the provider accept one of \(ours); it lists none of them, and Latchkey has no other method"
                } else {
                    "have the provider accept \(client.authentication.method.rawValue); Latchkey has no other method "
                        + "for mobile operators and Telco Finder"
                }
            return [.problem(.metadata, subject, error.reason, fix: fix)]
        }
    }

    private static func finding(
        _ error: OIDCError, at party: Party, _ subject: String, _ last: ExchangeRecorder.Exchange?
    ) -> Finding {
        var message = error.reason
        if let code = error.carrierError { message += " (\(code))" }
        if let failure = last?.failure { message += " (\(failure.reason))" }
        if let status = last?.response?.status, status != 200 { message += " (HTTP status \(status))" }
        let area: Finding.Area = error.code == .metadataRefused ? .metadata : .discovery
        let fix = last?.failure?.code.remedy ?? error.code.remedy(at: party)
        return .problem(area, subject, message, fix: fix)
    }

    /// Requests the endpoints on hosts not requested so far, without parameters: any response is good.
    /// - Parameter root: That of a mobile operator's APIs.
    private func reachEndpoints(
        of provider: ProviderMetadata, and root: EndpointURL? = nil, _ subject: String, _ recorder: ExchangeRecorder
    ) async -> [Finding] {
        var findings: [Finding] = []
        let urls = [
            provider.tokenEndpoint, provider.userInfoEndpoint, provider.userEndpoint?.url,
            provider.pushedAuthorizationRequestEndpoint, root,
        ]
        for url in urls.compactMap(\.self) {
            let host = "\(url.host):\(url.port)"
            guard !recorder.exchanges.contains(where: { $0.host == host }) else { continue }
            let request = OutboundRequest(
                method: .get, url: url, timeout: configuration.outbound.limits.userInfoTimeout, maximumBodyBytes: 65_536
            )
            do throws(OutboundError) {
                _ = try await recorder.send(request)
                findings.append(.ok(.endpoints, subject, "\(host) answers"))
            } catch {
                findings.append(.problem(.endpoints, subject, error.reason, fix: error.code.remedy))
            }
        }
        return findings
    }
}

extension OIDCError.Code {
    /// The remedy for an operator.
    fileprivate func remedy(at party: Doctor.Party) -> String {
        switch (self, party) {
        case (.unknownNetwork, _): "check the mccmnc, and that its carrier takes part"
        case (.discoveryRefused, .carrier): "ask the operator of discovery what its error means"
        case (.discoveryRefused, .provider): "ask the provider what its error means"
        case (.clientRefused, .carrier): "check that the client's id in zenkey.clients is the registered one"
        case (.clientRefused, .provider): "check that the client's id is the registered one"
        case (.metadataRefused, .carrier):
            "if the carrier's hosts are right, add them to zenkey.trusted_issuers, and the network's issuer to "
                + "zenkey.issuers; otherwise tell the carrier"
        case (.metadataRefused, .provider):
            "if issuer is not spelled as in the provider's metadata, correct it; otherwise tell the provider"
        case (.unusableResponse, .carrier):
            "check zenkey.discovery_url; if it is right, tell the operator of discovery"
        case (.unusableResponse, .provider): "check the issuer; if it is right, tell the provider"
        case (.keysUnavailable, _), (.invalidIDToken, _): party.unusableKeysRemedy
        case (.carrierRefused, _), (.apiRefused, _), (.timedOut, _), (.unreachable, _), (.overloaded, _),
            (.suspended, _), (.storeUnavailable, _):
            "check that this machine can reach the \(party.rawValue); try again later"
        }
    }
}

extension Doctor.Party {
    /// What to do about a key set without usable keys.
    var unusableKeysRemedy: String {
        "tell the \(rawValue): sign-ins with it fail until it publishes usable keys"
    }
}

extension OutboundError.Code {
    /// The remedy for an operator.
    var remedy: String {
        switch self {
        case .timedOut: "check that this machine can reach the host; raise outbound.timeouts if the host is only slow"
        case .unreachable:
            "check that the name resolves and the firewall allows outbound requests; set outbound.proxy if a proxy is "
                + "needed"
        case .addressRefused:
            "the address is private or special: set outbound.allow_private_networks if the host has a private "
                + "address, or allow_loopback_http for development"
        case .tls:
            "tell the operator of the host; if its certificate authority is your own, set "
                + "outbound.additional_ca_bundle"
        case .closed: "try again; if it persists, tell the operator of the host"
        case .malformed, .tooLarge: "check the URL; if it is right, tell the operator of the host"
        case .overloaded, .suspended, .shutDown: "try again"
        }
    }
}
