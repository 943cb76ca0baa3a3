/// A request to a carrier to ask a user on their phone, and for whom it counts.
package struct BackchannelPrompt: Sendable, Hashable {
    /// A keyed hash of the user that the login hint names: all spellings of a phone number have the same.
    package let user: TokenHash
    /// The caller that has this share of the carrier's waiting list: an API key, or an address where there is none.
    package let share: TokenHash
    /// How many requests may be sent to ask one user over time; nil for any number.
    package let allowance: SharedAllowance?

    package init(user: TokenHash, share: TokenHash, allowance: SharedAllowance?) {
        self.user = user
        self.share = share
        self.allowance = allowance
    }
}
