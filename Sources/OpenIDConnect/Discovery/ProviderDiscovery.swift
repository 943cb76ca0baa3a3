import Primitives
import Synchronization

/// Finds a provider's metadata and keeps it: the one of the carrier that serves a network, or the one of the issuer.
///
/// Concurrent callers with the same question share one request. ``IssuerVerification`` decides which issuer metadata
/// may name.
final class ProviderDiscovery: Sendable {
    /// How many different questions may be under way at once.
    private static let maximumRequests = 256

    private let access: ProviderAccess
    private let verification: IssuerVerification
    private let cache: Mutex<MetadataCache<ProviderMetadata>>
    /// When each source was last asked for metadata newer than what it gave.
    private let renewals: Mutex<BoundedCache<MetadataSource, Timestamp>>
    private let requests = SingleFlight<MetadataQuestion, MetadataOutcome<ProviderMetadata>>()

    init(_ access: ProviderAccess, _ verification: IssuerVerification) {
        self.access = access
        self.verification = verification
        cache = Mutex(MetadataCache(rules: access.configuration.cache))
        renewals = Mutex(BoundedCache(capacity: access.configuration.cache.maximumNetworks))
    }

    /// - Parameter network: Ignored by a relying party of one provider; any other needs it.
    func provider(
        for network: MCCMNC?, clientID: ClientID, correlationID: CorrelationID
    ) async throws(OIDCError) -> ProviderMetadata {
        if case .fixed(let metadata) = access.configuration.discovery { return metadata }
        guard let source = source(for: network) else {
            throw OIDCError(.unknownNetwork, reason: "The sign-in names no network (mccmnc) to find the carrier by.")
        }
        let clientID: ClientID? = if case .network = source { clientID } else { nil }
        return try await provider(MetadataQuestion(source: source, clientID: clientID), correlationID)
    }

    /// Where metadata is fetched from; nil if it is configured, or if a network is needed.
    private func source(for network: MCCMNC?) -> MetadataSource? {
        switch access.configuration.discovery {
        case .fixed: nil
        case .ofIssuer(let issuer): .issuer(issuer)
        case .byNetwork(let url): network.map { .network($0, at: url) }
        }
    }

    /// The metadata in the cache, fresh or stale; for the log.
    func knownProvider(for network: MCCMNC?) -> ProviderMetadata? {
        if case .fixed(let metadata) = access.configuration.discovery { return metadata }
        let now = access.clock.now()
        return source(for: network).flatMap { source in cache.withLock { $0.usable(source, at: now) } }
    }

    func fetchedAt(_ provider: ProviderMetadata) -> Timestamp? { cache.withLock { $0.fetchedAt(provider) } }

    private func provider(
        _ question: MetadataQuestion, _ correlationID: CorrelationID
    ) async throws(OIDCError) -> ProviderMetadata {
        let now = access.clock.now()
        if let metadata = cache.withLock({ $0.fresh(question.source, at: now) }) { return metadata }
        return try await requests.value(
            for: question, unless: { self.answer(question, at: now, inFlight: $0) },
            { await self.ask(question, correlationID) }
        ).get()
    }

    /// What answers a question without a request.
    private func answer(
        _ question: MetadataQuestion, at now: Timestamp, inFlight: Int
    ) -> MetadataOutcome<ProviderMetadata>? {
        cache.withLock { cache in
            if let metadata = cache.fresh(question.source, at: now) { return .kept(metadata) }
            if let error = cache.refusal(question, at: now) { return .failed(error) }
            guard inFlight >= Self.maximumRequests else { return nil }
            // A flood of unknown networks must not keep the users of known ones from signing in.
            return cache.usable(question.source, at: now).map { .kept($0) }
                ?? .failed(OIDCError(.overloaded, reason: "Discovery requests for too many networks are under way."))
        }
    }

    /// Refreshes of metadata that is in use and due. Known metadata serves meanwhile, and longer if a refresh fails.
    /// - Returns: At most `limit` requests to run; each returns whether there is new metadata.
    func refreshes(now: Timestamp, limit: Int) -> [@Sendable () async -> Bool] {
        let due = cache.withLock { $0.due(at: now) }.filter { !requests.isInFlight($0) }
        return due.prefix(limit).map { question in
            {
                let outcome = await self.requests.value(for: question) {
                    await self.ask(question, .random(from: self.access.random))
                }
                return if case .fetched = outcome { true } else { false }
            }
        }
    }

    /// Asks for a provider's metadata again soon, because it cannot be used as it is: a correction takes effect then.
    func distrust(_ provider: ProviderMetadata) {
        let now = access.clock.now()
        cache.withLock { $0.distrust(provider, at: now) }
    }

    /// Metadata of the same issuer that is newer than what a caller holds: from the cache, or by a request, of which
    /// each source gets at most one in ``CacheRules/retryInterval``. Nil if there is none.
    func newer(than provider: ProviderMetadata, correlationID: CorrelationID) async -> ProviderMetadata? {
        let known = cache.withLock { $0.answer { $0.issuer.hasSameBytes(as: provider.issuer) } }
        guard let (question, known) = known else { return nil }
        if known != provider { return known }
        let now = access.clock.now()
        let mayAsk = renewals.withLock { renewals in
            if let last = renewals[question.source], now.isWithin(access.configuration.cache.retryInterval, after: last)
            {
                return false
            }
            renewals.put(now, for: question.source)
            return true
        }
        guard mayAsk else { return nil }
        let outcome = await requests.value(for: question) { await self.ask(question, correlationID) }
        guard case .fetched(let newer) = outcome, newer.issuer.hasSameBytes(as: provider.issuer) else { return nil }
        return newer
    }

    private func ask(
        _ question: MetadataQuestion, _ correlationID: CorrelationID
    ) async -> MetadataOutcome<ProviderMetadata> {
        do throws(OIDCError) {
            let request = OutboundRequest(
                documentAt: try url(for: question, correlationID),
                timeout: access.configuration.limits.discoveryTimeout,
                maximumBodyBytes: access.configuration.limits.discoveryBytes,
                destination: .init(carrier: question.source.name, step: .discovery), correlationID: correlationID)
            let (metadata, freshness) = try await access.http.send(
                request, "The request for the OpenID configuration", codeMayBeSpent: false
            ) { (response) throws(OIDCError) in try read(response, question.source) }
            try await mappingErrors(awaiting: await keep(metadata, freshness, for: question)) { (error: OIDCError) in
                error.at(.init(to: request.url, status: 200))
            }
            return .fetched(metadata)
        } catch {
            let now = access.clock.now()
            return cache.withLock {
                $0.fallBack(
                    from: error, isLasting: error.isLasting, for: question, at: now, random: access.random)
            }
        }
    }

    private func url(for question: MetadataQuestion, _ correlationID: CorrelationID) throws(OIDCError) -> EndpointURL {
        switch question.source {
        case .issuer(let issuer):
            if let url = access.configuration.metadataURL { return url }
            return try issuer.openIDConfiguration(access.configuration.urlPolicy)
        case .network(let network, let url):
            return url.appending(query: [
                ("client_id", question.clientID?.text ?? ""), ("mccmnc", network.text),
                ("correlation_id", correlationID.text),
            ])
        }
    }

    /// Keeps metadata whose issuer is verified. Other networks' metadata that is refuted by this is removed, so that it
    /// does not serve on, not even for want of better.
    private func keep(
        _ metadata: ProviderMetadata, _ freshness: Freshness, for question: MetadataQuestion
    ) async throws(OIDCError) {
        let verdict = await verification.verify(metadata, from: question.source)
        cache.withLock { cache in
            if let authority = verdict.authority {
                cache.remove { source, other in
                    other.issuer.hasSameBytes(as: authority.issuer) && !authority.covers(other)
                        && !verification.isPinned(source)
                }
            }
            if verdict.refusal == nil { cache.keep(metadata, freshness, for: question) }
        }
        if let refusal = verdict.refusal { throw refusal }
    }

    private func read(
        _ response: OutboundResponse, _ source: MetadataSource
    ) throws(OIDCError) -> (ProviderMetadata, Freshness) {
        let requirements = access.configuration.metadataRequirements
        let network: MCCMNC? = if case .network(let network, _) = source { network } else { nil }
        let found: JSONObject
        do throws(OIDCError) {
            found = try document(in: response)
        } catch {
            // Not in place of metadata that was there before: it may demand what is not configured.
            guard case .issuer(let issuer) = source, [404, 410].contains(response.status),
                requirements.sufficeWithoutMetadata,
                cache.withLock({ $0.usable(source, at: access.clock.now()) }) == nil,
                let bare = JSONValue.object(of: [
                    ("issuer", .string(requirements.tenants?.template ?? issuer.text))
                ]).object
            else { throw error }
            found = bare
        }
        return (
            try ProviderMetadata(found, network: network, requirements: requirements),
            Freshness(response, at: access.clock.now(), rules: access.configuration.cache, random: access.random)
        )
    }

    private func document(in response: OutboundResponse) throws(OIDCError) -> JSONObject {
        guard
            let document = ProviderResponse.object(response, upTo: \.discoveryBytes, of: access.configuration.limits)
        else {
            throw OIDCError(
                .unusableResponse,
                reason: response.redirection
                    ?? "The discovery response, of status \(response.status), is not a JSON object.")
        }
        // Errors come with status 200 too.
        if document["error"] != nil || document["redirect_uri"] != nil { throw OIDCError(ofDiscovery: document) }
        guard response.status == 200 else {
            throw OIDCError(
                .unusableResponse,
                reason: response.redirection
                    ?? "Discovery responded with status \(response.status), and neither metadata nor an error.")
        }
        return document
    }
}

extension OutboundResponse {
    /// Where a redirect of metadata leads, and what to do about it; nil for another response, and for a relative
    /// address or one that cannot be shown.
    fileprivate var redirection: String? {
        guard (300...399).contains(status), let target = location else { return nil }
        guard target.isVisibleASCII(upTo: 512), target.hasPrefix("https://") || target.hasPrefix("http://"),
            !target.utf8.contains(where: "?#@\"<>".utf8.contains)
        else { return nil }
        let path = "/.well-known/openid-configuration"
        let setting =
            target.hasSuffix(path) ? "issuer to \(target.dropLast(path.utf8.count))" : "metadata_url to this address"
        return
            "Discovery responded with status \(status), a redirect to \(target), which is not followed. If it is "
            + "the provider's, set \(setting)."
    }
}

extension OIDCError {
    /// Discovery has two forms of an error: `{"error", "redirect_uri"}`, which sends the user to choose a carrier, and
    /// `{"error", "error_description"}`.
    init(ofDiscovery document: JSONObject) {
        let code = document["error"]?.string
        if document["redirect_uri"]?.string != nil {
            self.init(
                .unknownNetwork, carrierError: code, reason: "Discovery knows no carrier for the network (mccmnc).")
        } else if let code, ProviderResponse.concernsClient(code) {
            self.init(
                .clientRefused, carrierError: code,
                reason: "Discovery does not accept this client: check its id and registration.")
        } else {
            self.init(.discoveryRefused, carrierError: code, reason: "Discovery responded with an error.")
        }
    }

    /// Whether the same question to discovery would get the same response a moment later.
    var isLasting: Bool {
        switch code {
        case .unknownNetwork: true
        case .discoveryRefused: carrierError != "temporarily_unavailable" && carrierError != "server_error"
        default: false
        }
    }
}
