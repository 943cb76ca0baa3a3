import Primitives

/// How long providers' metadata and keys are kept, and how often they are fetched. Times are in seconds.
public struct CacheRules: Sendable, Hashable {
    /// The shortest lifetime, whatever the Cache-Control field says; also that of `no-store` and `no-cache`.
    public var minimumLifetime: Int64 = 60
    /// The longest lifetime, whatever the Cache-Control field says.
    public var maximumLifetime: Int64 = 86_400
    /// The lifetime of a response without Cache-Control.
    public var defaultLifetime: Int64 = 3_600
    /// How long metadata and keys stay in use after their lifetime if newer ones cannot be fetched.
    public var staleLifetime: Int64 = 86_400
    /// How long known metadata and keys serve after a failed fetch before a sign-in tries again.
    public var retryInterval: Int64 = 60
    /// How many background refreshes may run at once.
    public var maximumRefreshes = 8
    /// For how long discovery is not asked again about a network that it does not know.
    public var unknownNetworkLifetime: Int64 = 30
    /// How many networks are kept.
    public var maximumNetworks = 1024
    /// How often a key set may be fetched in a row, before ``keyFetchInterval`` counts: enough for keys rotated seconds
    /// after a fetch, and few enough for a flood of tokens with unknown key ids or bad signatures.
    public var keyFetchBurst: Int64 = 3
    /// How long it takes until a key set may be fetched once more.
    public var keyFetchInterval: Int64 = 10

    /// A clock that shows so many seconds less than before was only corrected.
    static let clockTolerance: Int64 = 60

    public init() {}

    /// The lifetime by a response's Cache-Control field (RFC 9111 section 5.2), within the bounds.
    package func lifetime(cacheControl: String?) -> Int64 {
        guard let cacheControl else { return bounded(defaultLifetime) }
        guard cacheControl.isASCII else { return minimumLifetime }
        var lifetime: Int64?
        for directive in cacheControl.lowercased().utf8.split(separator: UInt8(ascii: ",")) {
            let text = String(Substring(directive).filter { $0 != " " && $0 != "\t" && $0 != "\"" })
            if text == "no-store" || text == "no-cache" { return minimumLifetime }
            guard text.hasPrefix("max-age=") else { continue }
            let digits = text.dropFirst("max-age=".count)
            // A number that does not fit means "very long" (RFC 9111 section 1.2.2); anything else means "stale".
            let seconds = digits.isDecimal ? Int64(digits) ?? .max : 0
            lifetime = min(lifetime ?? .max, seconds)
        }
        return bounded(lifetime ?? defaultLifetime)
    }

    /// When a document in use is refreshed in the background: at a random point between three quarters and nine tenths
    /// of its lifetime, so that documents that came together are not fetched together.
    func refreshDelay(of lifetime: Int64, _ random: RandomSource) -> Int64 {
        Int64(Double(lifetime) * (0.75 + 0.15 * Self.fraction(random)))
    }

    /// When a background refresh that failed is tried again: before a sign-in would try.
    func retryDelay(_ random: RandomSource) -> Int64 {
        Int64(Double(retryInterval) * (0.5 + 0.4 * Self.fraction(random)))
    }

    /// From 0 to 1.
    private static func fraction(_ random: RandomSource) -> Double {
        Double(random.bytes(2).reduce(0) { $0 << 8 | UInt32($1) }) / 65_535
    }

    private func bounded(_ seconds: Int64) -> Int64 { max(minimumLifetime, min(maximumLifetime, seconds)) }
}

extension Timestamp {
    /// Whether it is less than so many seconds after another time. A clock that was set back ends the interval.
    func isWithin(_ seconds: Int64, after since: Timestamp) -> Bool {
        self < since.advanced(bySeconds: seconds) && since.advanced(bySeconds: -CacheRules.clockTolerance) <= self
    }
}

/// How long a fetched document is used: fresh at first, then stale if it cannot be fetched again, then not at all.
struct Freshness: Sendable {
    let fetchedAt: Timestamp
    /// When the document was fetched, or a later fetch failed.
    private var since: Timestamp
    /// No new fetch is needed before.
    private(set) var freshUntil: Timestamp
    /// The document must not be used after.
    let usableUntil: Timestamp
    /// When a background refresh is due.
    private(set) var refreshAt: Timestamp
    /// Whether the document was needed since it was fetched. What is not in use is not refreshed.
    var isInUse = false

    init(_ response: OutboundResponse, at now: Timestamp, rules: CacheRules, random: RandomSource) {
        let lifetime = rules.lifetime(cacheControl: response.cacheControl)
        fetchedAt = now
        since = now
        freshUntil = now.advanced(bySeconds: lifetime)
        usableUntil = freshUntil.advanced(bySeconds: rules.staleLifetime)
        refreshAt = now.advanced(bySeconds: rules.refreshDelay(of: lifetime, random))
    }

    /// Whether no new fetch is needed. After a clock that was set back the document is not fresh: else it would be for
    /// as long as the clock was ahead.
    func isFresh(at now: Timestamp) -> Bool { now < freshUntil && !wasSetBack(now) }

    /// Whether the document is in use and old enough to be fetched again before its time.
    func isRefreshDue(at now: Timestamp) -> Bool {
        isInUse && (refreshAt <= now || wasSetBack(now)) && now < usableUntil
    }

    /// Whether the clock shows an earlier time than it did. Clocks are set by seconds all the time.
    private func wasSetBack(_ now: Timestamp) -> Bool { now < since.advanced(bySeconds: -CacheRules.clockTolerance) }

    /// After a failed fetch: the document serves on for a while without another try, so that no sign-in waits for a
    /// provider that just failed.
    mutating func postpone(at now: Timestamp, rules: CacheRules, random: RandomSource) {
        since = now
        freshUntil = max(freshUntil, now.advanced(bySeconds: rules.retryInterval))
        refreshAt = now.advanced(bySeconds: rules.retryDelay(random))
    }

    /// Makes the document stale at a time, if it would be fresh for longer.
    mutating func limit(to time: Timestamp) { freshUntil = min(freshUntil, time) }
}

enum MetadataSource: Hashable, Sendable {
    /// A discovery service, asked for the carrier that serves a network.
    case network(MCCMNC, at: EndpointURL)
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

struct MetadataQuestion: Hashable, Sendable {
    let source: MetadataSource
    /// Nil for an issuer, which tells every client the same.
    var clientID: ClientID?
}

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

    func fetchedAt(_ metadata: Metadata) -> Timestamp? {
        entries.entries.first { $0.value.metadata == metadata }?.value.freshness.fetchedAt
    }

    /// Metadata, fresh or stale, and the question that it answers.
    func answer(where isWanted: (Metadata) -> Bool) -> (question: MetadataQuestion, metadata: Metadata)? {
        entries.entries.first { isWanted($0.value.metadata) }.map { ($0.value.question, $0.value.metadata) }
    }

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
