/// One rule for a token. Validation ends at the first rule of a list that is not met; an explanation applies them all.
struct TokenRule<Check: TokenCheck, Context>: Sendable {
    let check: Check
    let isMet: @Sendable (Context) -> Bool
    /// Whether there is an expected value to compare with; without one the rule is met.
    let hasExpectedValue: @Sendable (Context) -> Bool
    /// What the token has, for an explanation: nothing personal, and no nonce.
    let found: @Sendable (Context) -> String

    init(
        _ check: Check, _ isMet: @escaping @Sendable (Context) -> Bool,
        hasExpectedValue: @escaping @Sendable (Context) -> Bool = { _ in true },
        found: @escaping @Sendable (Context) -> String
    ) {
        self.check = check
        self.isMet = isMet
        self.hasExpectedValue = hasExpectedValue
        self.found = found
    }
}
