import StorageModel
import Synchronization

/// Counts of the requests for prompts since the process started, by what became of them.
package struct PromptStatistics: Sendable, Hashable {
    /// What became of a request.
    package enum Outcome: String, Sendable, CaseIterable {
        /// The carrier prompts the user.
        case accepted
        /// The carrier refused it.
        case refused
        /// It was not sent, or its response cannot be used.
        case failed
        /// It was not sent: the user has enough pending requests, or was prompted too often.
        case userLimit = "user_limit"
        /// It was not sent: the caller has too many requests under way, or had too many prompts in vain.
        case callerLimit = "caller_limit"
        /// It was not sent: the carrier has too many pending requests.
        case carrierLimit = "carrier_limit"

        /// Nil if it may be sent.
        init?(_ admission: BackchannelAuthenticationAdmission) {
            switch admission {
            case .admitted: return nil
            case .tooManyOfCaller, .tooManyPendingOfCaller, .tooManyPromptsOfCaller: self = .callerLimit
            case .tooManyPendingAtCarrier: self = .carrierLimit
            case .tooManyPendingForUser, .tooManyPendingForUserOfCaller, .promptedTooOften, .promptedTooOftenByCaller:
                self = .userLimit
            }
        }
    }

    package fileprivate(set) var counts: [Outcome: UInt64] = [:]
}

/// Counts requests for prompts.
final class PromptCounter: Sendable {
    private let counts = Mutex(PromptStatistics())

    func count(_ outcome: PromptStatistics.Outcome) { counts.withLock { $0.counts[outcome, default: 0] += 1 } }

    var statistics: PromptStatistics { counts.withLock { $0 } }
}
