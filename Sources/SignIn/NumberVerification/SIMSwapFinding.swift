/// What is known of the SIM of a number at a sign-in. The raw value is its name in the log.
package enum SIMSwapFinding: String, Sendable, Hashable {
    /// The SIM is the same for as long as the policy asks.
    case unchanged
    /// The SIM was changed.
    case swapped
    /// The operator did not tell.
    case unknown
}
