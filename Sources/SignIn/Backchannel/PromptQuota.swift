package import StorageModel

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
