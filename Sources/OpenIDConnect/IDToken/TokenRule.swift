/// One rule for a token. Validation ends at the first rule of a list that is not met; an explanation applies them all.
struct TokenRule<Check: TokenCheck, Context>: Sendable {
    let check: Check
    let isMet: @Sendable (Context) -> Bool
    /// What the token has, for an explanation: nothing personal, and no nonce.
    let found: @Sendable (Context) -> String

    init(
        _ check: Check, _ isMet: @escaping @Sendable (Context) -> Bool, found: @escaping @Sendable (Context) -> String
    ) {
        self.check = check
        self.isMet = isMet
        self.found = found
    }
}
