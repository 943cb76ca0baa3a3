import LatchkeyAPI
import Observability
import OpenIDConnect
import Primitives

extension CarrierMetrics {
    /// The results of the requests to an issuer.
    struct Figures: Sendable, Hashable {
        /// Responses of 2xx, or of 4xx, with which carriers refuse.
        var answered: UInt64 = 0
        /// All other requests.
        var failed: UInt64 = 0
        /// The total duration of the answered requests.
        var nanoseconds: UInt64 = 0

        var answers: ServiceStatus.Responses {
            var answers = ServiceStatus.Responses()
            answers.answered = answered
            answers.failed = failed
            if answered > 0 {
                answers.meanMilliseconds = (Double(nanoseconds) / Double(answered) / 10_000).rounded() / 100
            }
            return answers
        }

        static func - (left: Figures, right: Figures) -> Figures {
            Figures(
                answered: left.answered &- right.answered, failed: left.failed &- right.failed,
                nanoseconds: left.nanoseconds &- right.nanoseconds)
        }

        static func + (left: Figures, right: Figures) -> Figures {
            Figures(
                answered: left.answered &+ right.answered, failed: left.failed &+ right.failed,
                nanoseconds: left.nanoseconds &+ right.nanoseconds)
        }
    }

    /// A provider's issuer; the empty issuer is the carriers' discovery service.
    struct Source: Hashable, Sendable {
        let provider: String
        let issuer: String
    }

    /// The status of an issuer.
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
            for outcome in 0..<4 + OutboundError.Code.allCases.count {
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
