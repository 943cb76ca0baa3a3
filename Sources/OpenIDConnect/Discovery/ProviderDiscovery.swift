import Primitives
import Synchronization

/// Finds a provider's metadata, and remembers it: the carrier's that serves a network, or that of the one issuer there is.
///
/// Callers that ask for the same network with the same client at the same time share one request, which runs on its
/// own: whoever is cancelled takes nothing from the others. A network is held to the issuer that was configured or
/// first seen for it, so that neither discovery nor a carrier can later put another in its place; and of networks that
/// share an issuer, none can bring keys of its own. Metadata that comes from an issuer must name that very issuer.
final class ProviderDiscovery: Sendable {
    /// Whose metadata is asked for.
    private enum MetadataSource: Hashable, Sendable {
        /// Asked at a discovery service.
        case network(MCCMNC, at: EndpointURL)
        case issuer(EndpointURL)

        /// As the gate counts requests.
        var name: String {
            switch self {
            case .network(let network, _): network.text
            case .issuer(let issuer): issuer.text
            }
        }
    }

    private struct Known: Sendable {
        let metadata: ProviderMetadata
        var freshUntil: Timestamp
        /// When it was to be fresh until as it came, whatever happened since.
        let saidUntil: Timestamp
        let usableUntil: Timestamp
        /// As it was asked; a refresh asks it again.
        let question: Question
        var refreshAt: Timestamp
        /// Counts what discovery has answered, to tell a renewed one from the one before.
        let number: Int
        /// Whether anybody has needed it since it came: what nobody uses is not refreshed.
        var isInUse = false
    }

    private struct Refusal: Sendable {
        let error: OIDCError
        let until: Timestamp
    }

    private struct Question: Hashable, Sendable {
        let source: MetadataSource
        /// An issuer tells every client the same, and is not told which one asks.
        let clientID: ClientID?
    }

    private struct State {
        var known: BoundedTable<MetadataSource, Known>
        var refusals: BoundedTable<Question, Refusal>
        var issuers: BoundedTable<MetadataSource, String>
        var answers = 0
        var requests: [Question: Task<Result<ProviderMetadata, OIDCError>, Never>] = [:]
    }

    /// How many different questions may be under way at once.
    private static let maximumRequests = 256

    private let configuration: RelyingParty.Configuration
    private let http: any HTTPClient
    private let clock: WallClock
    private let random: RandomSource
    private let state: Mutex<State>

    init(configuration: RelyingParty.Configuration, http: any HTTPClient, clock: WallClock, random: RandomSource) {
        self.configuration = configuration
        self.random = random
        self.http = http
        self.clock = clock
        let capacity = configuration.cache.maximumNetworks
        state = Mutex(
            State(
                known: BoundedTable(capacity: capacity), refusals: BoundedTable(capacity: capacity),
                issuers: BoundedTable(capacity: max(capacity, 4096))))
    }

    /// - Parameter network: Nothing to a relying party of one provider; any other needs it.
    func provider(
        for network: MCCMNC?, clientID: ClientID, correlationID: CorrelationID
    ) async throws(OIDCError) -> ProviderMetadata {
        switch (configuration.discovery, network) {
        case (.fixed(let metadata), _):
            return metadata
        case (.ofIssuer(let issuer), _):
            return try await provider(Question(source: .issuer(issuer), clientID: nil), correlationID)
        case (.byNetwork(let url), let network?):
            return try await provider(Question(source: .network(network, at: url), clientID: clientID), correlationID)
        case (.byNetwork, nil):
            throw OIDCError(.unknownNetwork, reason: "No network is named to find the carrier by.")
        }
    }

    private func provider(
        _ question: Question, _ correlationID: CorrelationID
    ) async throws(OIDCError) -> ProviderMetadata {
        switch try next(for: question, correlationID: correlationID) {
        case .known(let metadata): return metadata
        case .asked(let request): return try await request.value.get()
        }
    }

    private enum Step {
        case known(ProviderMetadata)
        case asked(Task<Result<ProviderMetadata, OIDCError>, Never>)
    }

    private func next(for question: Question, correlationID: CorrelationID) throws(OIDCError) -> Step {
        let now = clock.now()
        return try state.withLock { state throws(OIDCError) in
            if var known = state.known[question.source], now < known.freshUntil {
                if !known.isInUse {
                    known.isInUse = true
                    state.known.put(known, for: question.source)
                }
                return .known(known.metadata)
            }
            if let request = state.requests[question] { return .asked(request) }
            if let refusal = state.refusals[question], now < refusal.until { throw refusal.error }
            guard state.requests.count < Self.maximumRequests else {
                // A flood of networks that nobody serves must not cost those that are known their service.
                if let known = state.known[question.source], now < known.usableUntil { return .known(known.metadata) }
                throw OIDCError(.overloaded, reason: "Too many networks are being asked for.")
            }
            let request = Task { await self.ask(question, correlationID: correlationID) }
            state.requests[question] = request
            return .asked(request)
        }
    }

    /// Asks anew, before their time, for the networks that are in use and due, so many at most. What is known serves
    /// meanwhile, and on if it fails. Whoever needs one of them meanwhile shares the request.
    func refreshes(now: Timestamp, limit: Int) -> [@Sendable () async -> Bool] {
        state.withLock { state in
            var refreshes: [@Sendable () async -> Bool] = []
            for (source, known) in state.known.entries {
                guard refreshes.count < limit, state.requests.count < Self.maximumRequests else { break }
                let question = known.question
                guard known.isInUse, known.refreshAt <= now, now < known.usableUntil, state.requests[question] == nil
                else { continue }
                let request = Task { await self.ask(question, correlationID: .random(from: self.random)) }
                state.requests[question] = request
                refreshes.append({ await self.wasRenewed(known, of: source, by: request) })
            }
            return refreshes
        }
    }

    /// The request's own result does not say: in place of a failure, it is what was known.
    private func wasRenewed(
        _ known: Known, of source: MetadataSource, by request: Task<Result<ProviderMetadata, OIDCError>, Never>
    ) async -> Bool {
        _ = await request.value
        return state.withLock { $0.known[source].map { $0.number != known.number } ?? false }
    }

    private func ask(_ question: Question, correlationID: CorrelationID) async -> Result<ProviderMetadata, OIDCError> {
        do throws(OIDCError) {
            let response = try await send(question, correlationID: correlationID)
            return .success(try keep(response, for: question))
        } catch {
            return fallBack(from: error, for: question)
        }
    }

    private func send(
        _ question: Question, correlationID: CorrelationID
    ) async throws(OIDCError) -> OutboundResponse {
        let url = try url(for: question, correlationID)
        let limits = configuration.limits
        do throws(OutboundError) {
            return try await http.send(
                OutboundRequest(
                    method: .get, url: url, headers: [("Accept", "application/json")],
                    timeout: limits.discoveryTimeout, maximumBodyBytes: limits.discoveryBytes,
                    destination: .init(carrier: question.source.name, step: .discovery)))
        } catch {
            throw OIDCError(error, of: "The request for the OpenID configuration", codeMayBeSpent: false)
        }
    }

    private func url(for question: Question, _ correlationID: CorrelationID) throws(OIDCError) -> EndpointURL {
        switch question.source {
        case .issuer(let issuer): return try issuer.openIDConfiguration(configuration.urlPolicy)
        case .network(let network, let url):
            return url.appending(query: [
                ("client_id", question.clientID?.text ?? ""), ("mccmnc", network.text),
                ("correlation_id", correlationID.text),
            ])
        }
    }

    private func keep(_ response: OutboundResponse, for question: Question) throws(OIDCError) -> ProviderMetadata {
        let metadata = try read(response, question.source)
        let rules = configuration.cache
        let now = clock.now()
        let lifetime = rules.lifetime(cacheControl: response.cacheControl)
        let fresh = now.advanced(bySeconds: lifetime)
        let refresh = now.advanced(bySeconds: rules.refreshDelay(of: lifetime, random))
        try state.withLock { state throws(OIDCError) in
            let expected = configuredIssuer(of: question.source) ?? state.issuers[question.source]
            guard expected?.hasSameBytes(as: metadata.issuer) ?? true else {
                throw OIDCError(
                    .metadataRefused, reason: "The metadata names another issuer than the one it is held to.")
            }
            if case .network(let network, _) = question.source {
                try checkClaim(
                    to: metadata.issuer, metadata, network, at: question.source, known: state.known, now: now)
            }
            state.issuers.put(metadata.issuer, for: question.source)
            state.answers += 1
            let known = Known(
                metadata: metadata, freshUntil: fresh, saidUntil: fresh,
                usableUntil: fresh.advanced(bySeconds: rules.staleLifetime), question: question, refreshAt: refresh,
                number: state.answers)
            state.known.put(known, for: question.source)
            state.refusals.remove(question)
            state.requests[question] = nil
        }
        return metadata
    }

    /// The issuer that metadata must name, where it is known beforehand: of an issuer's own, that issuer (OpenID Connect
    /// Discovery section 4.3).
    private func configuredIssuer(of source: MetadataSource) -> String? {
        switch source {
        case .network(let network, _): configuration.pinnedIssuers[network]
        case .issuer(let issuer): issuer.text
        }
    }

    private func read(_ response: OutboundResponse, _ source: MetadataSource) throws(OIDCError) -> ProviderMetadata {
        guard let document = ProviderResponse.object(response, maximumBytes: configuration.limits.discoveryBytes) else {
            throw OIDCError(.unusableResponse, reason: "Discovery did not answer with a JSON object.")
        }
        // Errors come with status 200 too.
        if document["error"] != nil || document["redirect_uri"] != nil { throw DiscoveryRefusal.error(document) }
        guard response.status == 200 else {
            throw OIDCError(.unusableResponse, reason: "Discovery answered with neither metadata nor an error.")
        }
        let requirements = ProviderMetadata.Requirements(
            urlPolicy: configuration.urlPolicy, trustedHosts: configuration.trustedHosts)
        guard case .network(let network, _) = source else {
            return try ProviderMetadata(document, network: nil, requirements: requirements)
        }
        return try ProviderMetadata(document, network: network, requirements: requirements)
    }

    /// Whether a network may speak for the issuer that its metadata names.
    ///
    /// Metadata that came from the issuer itself would be the issuer's word for it (Discovery section 4.3). Ours comes
    /// from a broker, by network: a carrier could name another's issuer beside keys and endpoints of its own, and so vouch
    /// for the other's users. So the endpoints have to be of the issuer's operator, and the keys those that the operator's
    /// other networks name, as long as what these said last is fresh. A network whose issuer is configured cannot name
    /// another's, and is not asked.
    private func checkClaim(
        to issuer: String, _ metadata: ProviderMetadata, _ network: MCCMNC, at source: MetadataSource,
        known: BoundedTable<MetadataSource, Known>, now: Timestamp
    ) throws(OIDCError) {
        guard configuration.pinnedIssuers[network] == nil else { return }
        let url = EndpointURL(issuer, policy: configuration.urlPolicy)
        let endpoints = [metadata.tokenEndpoint] + [metadata.jwksURI, metadata.userInfoEndpoint].compactMap(\.self)
        let areOfOneOperator = endpoints.allSatisfy { endpoint in
            url.map { configuration.trustedHosts.areOfOneOperator(endpoint.host, $0.host) } ?? false
        }
        let othersAgree = known.entries.allSatisfy { other, known in
            other == source || known.saidUntil <= now || !known.metadata.issuer.hasSameBytes(as: issuer)
                || known.metadata.jwksURI == metadata.jwksURI
        }
        guard areOfOneOperator, othersAgree else {
            let what = areOfOneOperator ? "another network's issuer, with other keys" : "an issuer of another operator"
            throw OIDCError(
                .metadataRefused,
                reason: "The network's metadata names \(what): configure the network's issuer if that is right.")
        }
    }

    /// Asks for a provider's metadata again soon, because it cannot be used as it is: whoever mends it need not wait until
    /// it is old.
    func distrust(_ provider: ProviderMetadata) {
        let soon = clock.now().advanced(bySeconds: configuration.cache.retryInterval)
        state.withLock { state in
            for (source, var known) in state.known.entries where known.metadata == provider {
                guard soon < known.freshUntil else { continue }
                known.freshUntil = soon
                state.known.put(known, for: source)
            }
        }
    }

    /// What was known serves a while longer; otherwise the question is answered with the error, and a network that
    /// discovery does not know is not asked for again at once.
    private func fallBack(from error: OIDCError, for question: Question) -> Result<ProviderMetadata, OIDCError> {
        let now = clock.now()
        let rules = configuration.cache
        return state.withLock { state in
            state.requests[question] = nil
            if var known = state.known[question.source], now < known.usableUntil {
                known.freshUntil = max(known.freshUntil, now.advanced(bySeconds: rules.retryInterval))
                known.refreshAt = now.advanced(bySeconds: rules.retryDelay(random))
                state.known.put(known, for: question.source)
                return .success(known.metadata)
            }
            if DiscoveryRefusal.isLasting(error) {
                let until = now.advanced(bySeconds: rules.unknownNetworkLifetime)
                state.refusals.put(Refusal(error: error, until: until), for: question)
            }
            return .failure(error)
        }
    }
}
