import LatchkeyAPI
import Observability
import OpenIDConnect
import Primitives

extension CarrierMetrics {
    /// How the requests to an issuer ended.
    struct Figures: Sendable, Hashable {
        /// With an answer that was meant for an answer: 2xx, or 4xx, by which carriers refuse.
        var answered: UInt64 = 0
        /// With any other, or none.
        var failed: UInt64 = 0
        /// All of those answered together.
        var nanoseconds: UInt64 = 0

        /// How long an answer takes; nil where there was none.
        private var meanMilliseconds: Double? {
            answered == 0 ? nil : (Double(nanoseconds) / Double(answered) / 10_000).rounded() / 100
        }

        var answers: ServiceStatus.Answers {
            var answers = ServiceStatus.Answers()
            answers.answered = answered
            answers.failed = failed
            answers.meanMilliseconds = meanMilliseconds
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

    /// How dealings with an issuer stand.
    struct Status: Sendable {
        /// A provider's issuer; without one, the carriers' discovery service.
        struct Source: Hashable, Sendable {
            let provider: String
            let issuer: String
        }

        let source: Source
        /// Since the process began.
        let figures: Figures
        /// What is not asked for the moment, or only tried.
        let leftAlone: [String]
        /// When the oldest of the keys at hand came; nil without any.
        let keysFetchedAt: Timestamp?
    }
}

extension CarrierMetrics.Figures {
    /// - Parameter durations: Of an issuer, by what was asked for and how it ended.
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
