package import StorageModel

/// Whose prompts the requests of a call count as (`BackchannelPrompt`), and how many there may be.
package struct PromptQuota: Sendable {
    /// The caller for which they count: an API key, or an address where there is none.
    package var caller: Caller
    /// How many prompts one user may get, of all callers; nil for any number.
    package var perUser: SharedAllowance?

    package init(of caller: Caller, perUser: SharedAllowance? = nil) {
        self.caller = caller
        self.perUser = perUser
    }
}
