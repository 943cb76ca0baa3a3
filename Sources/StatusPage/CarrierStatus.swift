import LatchkeyService
import Observability
import OpenIDConnect
import Primitives

/// The requests to providers, as the status page shows them.
extension CarrierMetrics {
    var figures: [Source: Figures] {
        Dictionary(requests.map { ($0.source, Figures($0.durations)) }) { first, _ in first }
    }

    func statuses(of parties: [String: RelyingParty], at now: Timestamp) -> [Status] {
        let open = openBreakers(of: parties)
        let ages = keyAges(of: parties, at: now)
        return requests.compactMap { source, durations in
            let figures = Figures(durations)
            let openBreakers = OutboundRequest.Destination.Step.allCases.filter {
                open[source]?.contains($0) ?? false
            }
            guard figures.answered + figures.failed > 0 || !openBreakers.isEmpty else { return nil }
            return Status(
                source: source, figures: figures, openBreakers: openBreakers.map(\.name),
                keysFetchedAt: ages[source].map { now.advanced(bySeconds: -$0) })
        }
    }

    struct Figures: Sendable, Hashable {
        /// Responses of 2xx, or of 4xx, with which providers refuse.
        var answered: UInt64 = 0
        /// All other requests.
        var failed: UInt64 = 0
        var nanoseconds: UInt64 = 0

        /// The mean time of a usable response; nil without one.
        var meanMilliseconds: Double? {
            answered > 0 ? (Double(nanoseconds) / Double(answered) / 10_000).rounded() / 100 : nil
        }

        static func - (left: Self, right: Self) -> Self {
            var difference = Self()
            difference.answered = left.answered &- right.answered
            difference.failed = left.failed &- right.failed
            difference.nanoseconds = left.nanoseconds &- right.nanoseconds
            return difference
        }
    }

    struct Status: Sendable {
        let source: Source
        /// Since the start of the process.
        let figures: Figures
        /// The steps whose circuit breaker is not closed.
        let openBreakers: [String]
        /// When the oldest cached keys were fetched; nil without keys.
        let keysFetchedAt: Timestamp?
    }
}

extension CarrierMetrics.Figures {
    /// - Parameter durations: The issuer's requests by step and outcome.
    init(_ durations: Histogram) {
        for step in OutboundRequest.Destination.Step.allCases.indices {
            for outcome in 0..<CarrierMetrics.outcomes {
                let total = durations.total(at: step, outcome)
                guard outcome < 2 else {
                    failed &+= total.count
                    continue
                }
                answered &+= total.count
                nanoseconds &+= total.nanoseconds
            }
        }
    }
}
