package import StorageModel
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

/// Whose prompts the requests of a call count as (`BackchannelPrompt`), and how many there may be.
package struct PromptQuota: Sendable {
    /// The caller for which they count: an API key, or an address where there is none.
    package var caller: Caller
    /// How many prompts one user may get, of all callers; nil for any number.
    package var perUser: SharedAllowance?
    /// How many prompts the caller may cause at providers that are no carriers, for all users together, besides those
    /// that led to a sign-in; nil for any number. Only the provider knows which hints name the same user, so that many
    /// spellings of one hint would give a user many prompts.
    package var perCaller: SharedAllowance?

    package init(of caller: Caller, perUser: SharedAllowance? = nil, perCaller: SharedAllowance? = nil) {
        self.caller = caller
        self.perUser = perUser
        self.perCaller = perCaller
    }
}
