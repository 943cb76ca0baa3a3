import Primitives
import SignIn
import StorageModel

/// A prompt: the question on a user's phone that an authentication request to a provider causes. It counts when the
/// request is sent, and is taken back if the provider refuses the request.
struct BackchannelPrompt: Sendable, Hashable {
    /// A keyed hash of the user (`LoginHint`).
    let user: TokenHash
    let quota: PromptQuota

    /// In which allowances it counts, and what it is refused with if one is used up.
    var allowances: [(use: AllowanceUse, refusal: (Int64) -> PromptRefusal)] {
        var found: [(use: AllowanceUse, refusal: (Int64) -> PromptRefusal)] = []
        if let allowance = quota.perUser {
            found += [
                (AllowanceUse(key: userAndCaller, allowance.half), PromptRefusal.promptedTooOften),
                (AllowanceUse(key: user, allowance), PromptRefusal.promptedTooOften),
            ]
        }
        if let allowance = quota.perCaller {
            let use = AllowanceUse(key: Self.key(ofCaller: quota.caller), allowance)
            found.append((use, PromptRefusal.tooManyPromptsOfCaller))
        }
        return found
    }

    /// Under which the caller's part of the allowance is counted.
    private var userAndCaller: TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(quota.caller.bytes)) for \(Base64URL.encode(user.bytes))")
    }

    /// Under which the prompts of a caller are counted for all users together.
    static func key(ofCaller caller: TokenHash) -> TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(caller.bytes))")
    }
}

/// Whose prompts the requests of a call count as, and how many there may be over time.
struct PromptQuota: Sendable, Hashable {
    /// The caller for which they count: an API key, or an address where there is none.
    let caller: TokenHash
    /// How many prompts one user may get, of all callers; nil for any number. One caller may use half of it.
    var perUser: SharedAllowance?
    /// How many prompts the caller may cause at providers other than carriers, for all users together, besides those
    /// that led to a sign-in; nil for any number. Only the provider knows which hints name the same user, so that many
    /// spellings of one hint would give a user many prompts.
    var perCaller: SharedAllowance?
}

/// What became of a request for a prompt.
enum PromptOutcome: String, Sendable, CaseIterable {
    /// The provider prompts the user.
    case accepted
    case refused
    /// It was not sent, or its response cannot be used.
    case failed
    /// It was not sent: the user has enough pending requests, or was prompted too often.
    case userLimit = "user_limit"
    /// It was not sent: the caller has too many requests under way, or had too many prompts in vain.
    case callerLimit = "caller_limit"
    /// It was not sent: the provider has too many pending requests.
    case carrierLimit = "carrier_limit"
}

/// Why a request may not be sent to a provider, for the client and for the metric. Only one that is sent is counted.
struct PromptRefusal: Sendable, Hashable {
    let error: SignInError
    let outcome: PromptOutcome

    private init(_ problem: String, _ seconds: Int64, _ outcome: PromptOutcome) {
        error = SignInError(.rateLimited, .serverError, problem, retryAfter: seconds)
        self.outcome = outcome
    }

    static let tooManyOfCaller = Self(
        "This caller has too many backchannel authentications under way. Wait until some have ended.", 60, .callerLimit)

    static let tooManyPendingOfCaller = Self(
        "This caller has too many pending requests at this provider. Wait until some are answered or expire.", 30,
        .callerLimit)

    /// Of all callers, or of this one, which has a part of those that may be pending for the user.
    static let tooManyPendingForUser = Self(
        "This user has several pending requests already. Wait until one is answered or expires.", 30, .userLimit)

    static let tooManyPendingAtProvider = Self(
        "Too many users of this provider have a pending request. Wait until some are answered or expire.", 30,
        .carrierLimit)

    /// All callers together, or this one, had the user prompted as often as they may.
    static func promptedTooOften(secondsToWait seconds: Int64) -> Self {
        Self(
            "This user was prompted too often, cancelled requests included. Wait \(seconds) s, and ask only when the "
                + "user expects it.", seconds, .userLimit)
    }

    /// The caller had users prompted as often as one caller may who did not sign in.
    static func tooManyPromptsOfCaller(secondsToWait seconds: Int64) -> Self {
        Self(
            "This caller had too many users prompted who did not sign in. Wait \(seconds) s, and ask users only when "
                + "they expect it.", seconds, .callerLimit)
    }
}
