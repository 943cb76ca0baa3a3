import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

// The providers' responses, by the rules of the relying party.
extension Doctor {
    /// Whom a finding is about: a mobile carrier of discovery, or any other provider.
    enum Party: String {
        case carrier, provider

        init(_ known: Configuration.Provider) { self = known.kind == .zenkey ? .carrier : .provider }
    }

    /// - Parameter database: Its bindings of issuers are used, and not changed.
    func examineCarriers(_ database: Result<DatabaseExamination, StorageError>) async -> [Finding] {
        guard let zenkey = configuration.zenkey.provider else {
            guard configuration.providers.isEmpty else { return [] }
            return [.problem(.discovery, "", "zenkey.discovery_url is not set", fix: "set it")]
        }
        let recorder = ExchangeRecorder(http, clock: clock)
        let carriers = configuration.relyingParty(of: zenkey)
        var findings: [Finding] = []
        if networks.isEmpty { findings += await reachDiscovery(zenkey.issuer, recorder) }
        let known = try? database.get().issuers
        if !questions.isEmpty { findings.append(Self.finding(known, isReadable: (try? database.get()) != nil)) }
        var seen: Set<ProviderMetadata> = []
        for (network, client) in questions {
            let subject = "\(network.text), client \(client.id.text)"
            // One relying party per question: it caches the network, and would not ask again for another client.
            let relyingParty = RelyingParty(
                configuration: carriers, http: recorder, bindings: MemoryIssuerBindings(known ?? KnownIssuers()),
                clock: clock)
            do throws(OIDCError) {
                let provider = try await relyingParty.provider(
                    for: network, clientID: client.id, correlationID: .random(from: .system))
                var examination = ServerExamination(
                    doctor: self, known: zenkey, provider: provider, relyingParty: relyingParty, recorder: recorder,
                    subject: subject)
                examination.ok("discovery answers", in: .discovery)
                examination.examineAuthentication(of: client)
                if seen.insert(provider).inserted {
                    examination.subject = network.text
                    await examination.examine()
                }
                findings += examination.findings
            } catch {
                findings.append(Self.finding(error, at: .carrier, subject, recorder.exchanges.last))
            }
        }
        return findings + examineHosts(recorder.exchanges)
    }

    /// What the issuers that networks name are compared with.
    private static func finding(_ known: KnownIssuers?, isReadable: Bool) -> Finding {
        guard isReadable else {
            return .warning(
                .metadata, "",
                "the database cannot be read, so the issuers that networks name are not compared with it",
                fix: "make the database readable, and run this again")
        }
        guard let known, !known.bindings.isEmpty else {
            return .ok(
                .metadata, "",
                "the database has no known issuers, so those that networks name are verified as at a first start")
        }
        let count = known.bindings.count == 1 ? "1 known issuer" : "\(known.bindings.count) known issuers"
        return .ok(.metadata, "", "the issuers that networks name are compared with the \(count) in the database")
    }

    /// Every client with the first network, and every network with the first client: this finds each fault without all
    /// pairs.
    private var questions: [(MCCMNC, Configuration.Client)] {
        let clients = configuration.zenkey.clients
        guard let firstNetwork = networks.first, let firstClient = clients.first else { return [] }
        return clients.map { (firstNetwork, $0) }
            + networks.dropFirst().map { ($0, firstClient) }
    }

    /// The metadata and keys of the other providers. A Telco Finder is not asked for a number.
    func examineProviders() async -> [Finding] {
        let recorder = ExchangeRecorder(http, clock: clock)
        var findings: [Finding] = []
        for known in configuration.servers where known.kind != .zenkey {
            let relyingParty = RelyingParty(
                configuration: configuration.relyingParty(of: known), http: recorder, clock: clock)
            guard let first = known.clients.first else { continue }
            do throws(OIDCError) {
                let provider = try await relyingParty.provider(
                    for: nil, clientID: first.id, correlationID: .random(from: .system))
                if known.kind == .oidc, let status = recorder.exchanges.last?.response?.status, status != 200 {
                    findings.append(
                        .warning(
                            .metadata, known.id,
                            "it has no metadata (HTTP status \(status)), and the configured endpoints are used",
                            fix: "if it should have metadata, correct issuer or metadata_url"))
                }
                var examination = ServerExamination(
                    doctor: self, known: known, provider: provider, relyingParty: relyingParty, recorder: recorder,
                    subject: known.id)
                await examination.examine()
                findings += examination.findings
            } catch {
                findings.append(Self.finding(error, at: .provider, known.id, recorder.exchanges.last))
            }
        }
        return findings + examineHosts(recorder.exchanges)
    }

    private func reachDiscovery(_ url: EndpointURL, _ recorder: ExchangeRecorder) async -> [Finding] {
        let client = configuration.zenkey.clients.first?.id.text ?? ""
        let skipped = Finding.warning(
            .metadata, "", "there is no network to ask discovery for, so no metadata or keys were checked",
            fix: "name one with --mccmnc, such as --mccmnc 310010")
        let timeout = configuration.outbound.limits.discoveryTimeout
        let request = OutboundRequest(
            method: .get, url: url.appending(query: [("client_id", client)]), timeout: timeout,
            maximumBodyBytes: 65_536)
        do throws(OutboundError) {
            let status = try await recorder.send(request).status
            guard status < 500 else {
                let fix = "check zenkey.discovery_url or the issuer; if it is right, tell whoever runs discovery"
                return [.problem(.discovery, url.host, "answers \(status)", fix: fix), skipped]
            }
            return [.ok(.discovery, url.host, "answers"), skipped]
        } catch {
            return [.problem(.discovery, url.host, error.reason, fix: error.code.remedy), skipped]
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
}

extension OIDCError.Code {
    fileprivate func remedy(at party: Doctor.Party) -> String {
        switch (self, party) {
        case (.unknownNetwork, _): "check the mccmnc, and that its carrier takes part"
        case (.discoveryRefused, .carrier): "ask whoever runs discovery what its error means"
        case (.discoveryRefused, .provider): "ask the provider what its error means"
        case (.clientRefused, .carrier): "check that the client's id in zenkey.clients is the registered one"
        case (.clientRefused, .provider): "check that the client's id is the registered one"
        case (.metadataRefused, .carrier):
            "if the carrier's hosts are right, add them to zenkey.trusted_issuers, and the network's issuer to "
                + "zenkey.issuers; otherwise tell the carrier"
        case (.metadataRefused, .provider):
            "if issuer is not spelled as in the provider's metadata, correct it; otherwise tell the provider"
        case (.unusableResponse, .carrier):
            "check zenkey.discovery_url; if it is right, tell whoever runs discovery"
        case (.unusableResponse, .provider): "check the issuer; if it is right, tell the provider"
        case (.keysUnavailable, _), (.invalidIDToken, _): party.unusableKeysRemedy
        case (.carrierRefused, _), (.apiRefused, _), (.timedOut, _), (.unreachable, _), (.overloaded, _),
            (.suspended, _), (.storeUnavailable, _):
            "check that this machine can reach the \(party.rawValue); try again later"
        }
    }
}

extension Doctor.Party {
    var unusableKeysRemedy: String {
        "tell the \(rawValue): sign-ins with it fail until it publishes usable keys"
    }
}

extension OutboundError.Code {
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
            "tell whoever runs the host; if its certificate authority is your own, set "
                + "outbound.additional_ca_bundle"
        case .closed: "try again; if it persists, tell whoever runs the host"
        case .malformed, .tooLarge: "check the URL; if it is right, tell whoever runs the host"
        case .overloaded, .suspended, .shutDown: "try again"
        }
    }
}
