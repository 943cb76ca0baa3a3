import Primitives
import StorageModel

/// A prompt: the question on a user's phone that an authentication request to a provider causes. It counts when the
/// request is sent, and is taken back if the provider refuses the request.
struct BackchannelPrompt: Sendable, Hashable {
    /// A keyed hash of the user (`LoginHint`).
    let user: TokenHash
    /// The caller for which it counts: an API key, or an address where there is none.
    let caller: TokenHash
    /// How many prompts one user may get over time; nil for any number. One caller may use half of it.
    let allowance: SharedAllowance?
    /// How many prompts the caller may cause over time for all users together, besides those that led to a sign-in;
    /// nil for any number.
    var callerAllowance: SharedAllowance?

    /// In which allowances it counts, and what it is refused with if one is used up.
    var allowances: [(use: AllowanceUse, refusal: (Int64) -> BackchannelAuthenticationAdmission)] {
        var found: [(use: AllowanceUse, refusal: (Int64) -> BackchannelAuthenticationAdmission)] = []
        if let allowance {
            found += [
                (AllowanceUse(key: userAndCaller, allowance.half), { .promptedTooOftenByCaller(secondsToWait: $0) }),
                (AllowanceUse(key: user, allowance), { .promptedTooOften(secondsToWait: $0) }),
            ]
        }
        if let callerAllowance {
            let use = AllowanceUse(key: Self.key(ofCaller: caller), callerAllowance)
            found.append((use, { .tooManyPromptsOfCaller(secondsToWait: $0) }))
        }
        return found
    }

    /// Under which the caller's part of the allowance is counted.
    private var userAndCaller: TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(caller.bytes)) for \(Base64URL.encode(user.bytes))")
    }

    /// Under which the prompts of a caller are counted for all users together.
    static func key(ofCaller caller: TokenHash) -> TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(caller.bytes))")
    }
}
