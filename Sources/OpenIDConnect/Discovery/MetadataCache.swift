import Primitives

/// Where metadata comes from.
enum MetadataSource: Hashable, Sendable {
    /// A discovery service, asked for the carrier that serves a network.
    case network(MCCMNC, at: EndpointURL)
    /// The issuer itself.
    case issuer(EndpointURL)

    /// The name under which the bulkhead counts requests.
    var name: String {
        switch self {
        case .network(let network, _): network.text
        case .issuer(let issuer): issuer.text
        }
    }

    /// Leaves out the URL of the discovery service, which is the same for all networks.
    func hash(into hasher: inout Hasher) {
        switch self {
        case .network(let network, _): hasher.combine(network)
        case .issuer(let issuer): hasher.combine(issuer.text)
        }
    }
}

/// A request for metadata.
struct MetadataQuestion: Hashable, Sendable {
    let source: MetadataSource
    /// Nil for an issuer, which tells every client the same.
    var clientID: ClientID?
}

/// How a request for metadata ended.
enum MetadataOutcome<Metadata: Sendable>: Sendable {
    case fetched(Metadata)
    /// Metadata of an earlier request serves on.
    case kept(Metadata)
    case failed(OIDCError)

    func get() throws(OIDCError) -> Metadata {
        switch self {
        case .fetched(let metadata), .kept(let metadata): return metadata
        case .failed(let error): throw error
        }
    }
}

/// Metadata by source, and the errors that would come back again by question. A value without clock and network.
struct MetadataCache<Metadata: Sendable & Hashable>: Sendable {
    private struct Entry: Sendable {
        let metadata: Metadata
        var freshness: Freshness
        /// Asked again by a refresh.
        let question: MetadataQuestion
    }

    private let rules: CacheRules
    private var entries: BoundedCache<MetadataSource, Entry>
    private var refusals: BoundedCache<MetadataQuestion, (error: OIDCError, since: Timestamp)>

    init(rules: CacheRules) {
        self.rules = rules
        entries = BoundedCache(capacity: rules.maximumNetworks)
        refusals = BoundedCache(capacity: rules.maximumNetworks)
    }

    /// Fresh metadata, which is in use from now on.
    mutating func fresh(_ source: MetadataSource, at now: Timestamp) -> Metadata? {
        guard var entry = entries[source], entry.freshness.isFresh(at: now) else { return nil }
        if !entry.freshness.isInUse {
            entry.freshness.isInUse = true
            entries.put(entry, for: source)
        }
        return entry.metadata
    }

    /// Fresh or stale metadata.
    func usable(_ source: MetadataSource, at now: Timestamp) -> Metadata? {
        entries[source].flatMap { now < $0.freshness.usableUntil ? $0.metadata : nil }
    }

    /// When metadata was fetched; nil if it is not in the cache.
    func fetchedAt(_ metadata: Metadata) -> Timestamp? {
        entries.entries.first { $0.value.metadata == metadata }?.value.freshness.fetchedAt
    }

    /// Metadata, fresh or stale, and the question that it answers.
    func answer(where isWanted: (Metadata) -> Bool) -> (question: MetadataQuestion, metadata: Metadata)? {
        entries.entries.first { isWanted($0.value.metadata) }.map { ($0.value.question, $0.value.metadata) }
    }

    /// The error with which a question was answered lately.
    func refusal(_ question: MetadataQuestion, at now: Timestamp) -> OIDCError? {
        refusals[question].flatMap { now.isWithin(rules.unknownNetworkLifetime, after: $0.since) ? $0.error : nil }
    }

    mutating func keep(_ metadata: Metadata, _ freshness: Freshness, for question: MetadataQuestion) {
        entries.put(Entry(metadata: metadata, freshness: freshness, question: question), for: question.source)
        refusals.remove(question)
    }

    /// What answers a question whose request failed: earlier metadata while it is usable, else the error.
    /// - Parameter isLasting: Whether to give the same error for a while without asking again.
    mutating func fallBack(
        from error: OIDCError, isLasting: Bool, for question: MetadataQuestion, at now: Timestamp, random: RandomSource
    ) -> MetadataOutcome<Metadata> {
        if var entry = entries[question.source], now < entry.freshness.usableUntil {
            entry.freshness.postpone(at: now, rules: rules, random: random)
            entries.put(entry, for: question.source)
            return .kept(entry.metadata)
        }
        if isLasting {
            refusals.put((error, now), for: question)
        }
        return .failed(error)
    }

    /// Makes metadata stale soon.
    mutating func distrust(_ metadata: Metadata, at now: Timestamp) {
        for (source, var entry) in entries.entries where entry.metadata == metadata {
            entry.freshness.limit(to: now.advanced(bySeconds: rules.retryInterval))
            entries.put(entry, for: source)
        }
    }

    /// The questions whose metadata is due to be refreshed in the background.
    func due(at now: Timestamp) -> [MetadataQuestion] {
        entries.entries.compactMap { $0.value.freshness.isRefreshDue(at: now) ? $0.value.question : nil }
    }

    /// Removes the metadata of sources.
    mutating func remove(where isRefuted: (MetadataSource, Metadata) -> Bool) {
        for (source, entry) in entries.entries where isRefuted(source, entry.metadata) { entries.remove(source) }
    }
}
