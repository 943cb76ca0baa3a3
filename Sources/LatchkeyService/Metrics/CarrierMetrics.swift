import Logging
package import Observability
package import OpenIDConnect
package import Primitives
import SignIn

/// Counts requests to providers.
package final class CarrierMetrics: Sendable {
    /// Of one issuer.
    private struct Row: Sendable {
        let durations: Histogram
        let keyRefreshes: Counter
        let source: Source
    }

    /// The most issuers counted separately.
    private static let capacity = 64
    private static let labels: [MetricDescription.Label] = [
        .init("provider", "the provider's name in the configuration"),
        .init("issuer", "the issuer; empty for discovery; `other` for all beyond \(capacity)"),
    ]
    private static let steps = LabelValues(
        "kind", OutboundRequest.Destination.Step.allCases.map(\.rawValue), "what was requested")

    private let rows: BoundedRows<Source, Row>
    private let durations: MetricFamily
    private let keyRefreshes: MetricFamily
    private let metadataRefusals = Counter(
        "latchkey_metadata_refusals_total",
        "Metadata of mobile networks that was refused because of the issuer that it names.",
        by: [
            LabelValues(
                "reason", RelyingPartyObserver.MetadataRefusal.allCases.map(\.rawValue),
                "why the network may not name the issuer")
        ])

    init() {
        let outcomes = LabelValues(
            "outcome", ["ok", "refused", "failed", "unexpected"] + OutboundError.Code.allCases.map(\.rawValue),
            "`ok` for a response of 2xx, `refused` for 4xx, `failed` for 5xx, `unexpected` for any other; or why "
                + "there was none")
        let durations = MetricFamily(
            "latchkey_carrier_request_duration_seconds", .histogram,
            "Duration of requests to providers, to the response or failure.", rows: Self.labels,
            by: [Self.steps, outcomes])
        let keyRefreshes = MetricFamily(
            "latchkey_key_refreshes_total", .counter, "Requests for an issuer's signing keys.",
            rows: Self.labels,
            by: [LabelValues("outcome", ["ok", "failed"], "whether usable keys were returned")])
        self.durations = durations
        self.keyRefreshes = keyRefreshes
        rows = BoundedRows(capacity: Self.capacity, other: .other) { source in
            Row(
                durations: Histogram(durations.row(source.provider, source.issuer)),
                keyRefreshes: Counter(keyRefreshes.row(source.provider, source.issuer)), source: source)
        }
    }

    /// The observer of a provider's relying party.
    /// - Parameter idTokens: Get the checks of ID tokens. If there are none, no check is recorded.
    func observer(
        of provider: String, usesNetworkDiscovery: Bool, idTokens: [IDTokenObserver], clock: WallClock,
        logger: Logger
    ) -> RelyingPartyObserver {
        // Anyone can name any network.
        let refusals = LogSamplers(clock: clock)
        let tellAll: IDTokenObserver = { explanation, id in for tell in idTokens { tell(explanation, id) } }
        var observer = RelyingPartyObserver()
        observer.request = { [self] destination, ending, nanoseconds in
            rows[source(of: destination, provider, usesNetworkDiscovery)].durations
                .observe(nanoseconds, at: destination.step.place, Self.place(of: ending))
        }
        observer.keyRefresh = { [self] issuer, wentWell in
            rows[Source(provider: provider, issuer: issuer)].keyRefreshes.add(at: wentWell ? 0 : 1)
        }
        observer.metadataRefusal = { [metadataRefusals] network, issuer, reason in
            metadataRefusals.add(at: reason.place)
            refusals.log(
                .error, "a network's metadata was refused; if it is right, set the network's issuer in zenkey.issuers",
                of: reason.rawValue, to: logger
            ) {
                ["mccmnc": "\(network.text)", "issuer": "\(issuer)", "reason": "\(reason.rawValue)"]
            }
        }
        observer.idToken = idTokens.isEmpty ? nil : tellAll
        return observer
    }

    /// Carriers' discovery requests have no issuer: their networks come from callers, and the issuers whose own
    /// configuration is requested come from the networks' metadata.
    private func source(of destination: OutboundRequest.Destination, _ provider: String, _ usesNetworkDiscovery: Bool)
        -> Source
    {
        Source(
            provider: provider,
            issuer: usesNetworkDiscovery && destination.step == .discovery ? "" : destination.carrier)
    }

    private static func place(of ending: RelyingPartyObserver.Ending) -> Int {
        switch ending {
        case .answered(200...299): 0
        case .answered(400...499): 1
        case .answered(500...599): 2
        case .answered: 3
        case .failed(let code): 4 + code.place
        }
    }

    func metrics(of parties: [String: RelyingParty], clock: WallClock) -> [any Metric] {
        [
            rows.metric(durations) { $0.durations }, rows.metric(keyRefreshes) { $0.keyRefreshes },
            metadataRefusals,
            SampledMetric(
                MetricDescription(
                    "latchkey_carrier_requests_in_progress", .gauge, "Requests to providers without a response so far.",
                    labels: [Self.labels[0]])
            ) {
                parties.map { .init(Double($0.value.requestsInFlight), [$0.key]) }.sorted {
                    $0.labels[0] < $1.labels[0]
                }
            },
            SampledMetric(
                MetricDescription(
                    "latchkey_carrier_breaker_open", .gauge,
                    "1 if the circuit breaker of an endpoint is open or half-open; 0 if it is closed.",
                    labels: Self.labels + [Self.steps.label])
            ) { [self] in breakers(of: parties) },
            SampledMetric(
                MetricDescription(
                    "latchkey_keys_age_seconds", .gauge, "Age of an issuer's cached signing keys.", labels: Self.labels)
            ) { [self] in
                keyAges(of: parties, at: clock.now())
                    .map { SampledMetric.Sample(Double($0.value), [$0.key.provider, $0.key.issuer]) }
                    .sorted { $0.labels.lexicographicallyPrecedes($1.labels) }
            },
        ]
    }

    /// The requests to each issuer so far: by their step, and by an outcome below ``outcomes``, of which the first is a
    /// response of 2xx, and the second one of 4xx.
    package var requests: [(source: Source, durations: Histogram)] { rows.all.map { ($0.source, $0.durations) } }

    /// The number of outcomes of a request.
    package static let outcomes = 4 + OutboundError.Code.allCases.count

    /// The breakers of each issuer requested so far. That of the discovery service is open if any network's is.
    private func breakers(of parties: [String: RelyingParty]) -> [SampledMetric.Sample] {
        let open = openBreakers(of: parties)
        return rows.all.flatMap { row in
            OutboundRequest.Destination.Step.allCases.compactMap { step -> SampledMetric.Sample? in
                let isOpen = open[row.source]?.contains(step) ?? false
                let isUsed = (0..<Self.outcomes).contains { row.durations.total(at: step.place, $0).count > 0 }
                guard isOpen || isUsed else { return nil }
                return .init(isOpen ? 1 : 0, [row.source.provider, row.source.issuer, step.rawValue])
            }
        }
    }

    /// The steps whose circuit breaker is not closed.
    package func openBreakers(of parties: [String: RelyingParty]) -> [Source: Set<OutboundRequest.Destination.Step>] {
        var open: [Source: Set<OutboundRequest.Destination.Step>] = [:]
        for (provider, party) in parties {
            for (destination, _) in party.failingDestinations {
                open[known(source(of: destination, provider, party.usesNetworkDiscovery)), default: []].insert(
                    destination.step)
            }
        }
        return open
    }

    /// How old the oldest cached keys are, in seconds.
    package func keyAges(of parties: [String: RelyingParty], at now: Timestamp) -> [Source: Int64] {
        var ages: [Source: Int64] = [:]
        for (provider, party) in parties {
            for keys in party.keyStatuses {
                let source = known(Source(provider: provider, issuer: keys.issuer))
                let age = max(0, now.seconds(since: keys.fetchedAt))
                ages[source] = max(age, ages[source] ?? 0)
            }
        }
        return ages
    }

    private func known(_ source: Source) -> Source { rows.has(source) ? source : .other }

    /// A provider's issuer; the empty issuer is the carriers' discovery service.
    package struct Source: Hashable, Sendable {
        package let provider: String
        package let issuer: String

        /// All beyond the capacity.
        static let other = Source(provider: "other", issuer: "other")
    }
}
