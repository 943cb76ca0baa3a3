import Primitives

/// A prompt: the question on a user's phone that an authentication request to a provider causes. It counts when the
/// request is sent, and is taken back if the provider refuses the request.
package struct BackchannelPrompt: Sendable, Hashable {
    /// A keyed hash of the user (`LoginHint`).
    package let user: TokenHash
    /// The caller for which it counts: an API key, or an address where there is none.
    package let caller: TokenHash
    /// How many prompts one user may get over time; nil for any number. One caller may use half of it.
    package let allowance: SharedAllowance?
    /// How many prompts the caller may cause over time for all users together, besides those that led to a sign-in;
    /// nil for any number.
    package let callerAllowance: SharedAllowance?

    package init(
        user: TokenHash, caller: TokenHash, allowance: SharedAllowance?, callerAllowance: SharedAllowance? = nil
    ) {
        self.user = user
        self.caller = caller
        self.allowance = allowance
        self.callerAllowance = callerAllowance
    }

    /// Under which the caller's part of the allowance is counted.
    package var userAndCaller: TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(caller.bytes)) for \(Base64URL.encode(user.bytes))")
    }

    /// Under which the prompts of a caller are counted for all users together.
    package static func key(ofCaller caller: TokenHash) -> TokenHash {
        TokenHash(sha256Of: "prompts of \(Base64URL.encode(caller.bytes))")
    }
}
