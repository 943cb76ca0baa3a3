import Primitives

/// One rule for the header of a token.
struct HeaderRule: Sendable {
    let check: IDTokenCheck
    let isMet: @Sendable (_ header: JSONObject, _ type: TokenType, _ allows: (SigningAlgorithm) -> Bool) -> Bool
    /// What the header has, for an explanation.
    let found: @Sendable (_ header: JSONObject, _ type: TokenType) -> String

    /// The rules for a token of any kind, in the order in which it is refused by them.
    static let all = [
        // RFC 7515 section 4.1.11: crit lists extensions that must be understood, and none is supported. RFC 7797's
        // b64 changes what is signed.
        HeaderRule(check: .criticalHeader) { header, _, _ in
            header["crit"] == nil && header["b64"] == nil
        } found: { header, _ in
            let present = ["crit", "b64"].filter { header[$0] != nil }
            return present.isEmpty
                ? "neither crit nor b64 is present" : present.joined(separator: " and ") + " is present"
        },
        // RFC 8725 section 3.11: a token of another kind (logout+jwt, port_token+jwt) is not accepted as this one.
        HeaderRule(check: .type) { header, type, _ in
            type.isNamed(by: header["typ"])
        } found: { header, type in
            "typ is \(DisplayText.value(header["typ"])); accepted: \(type.accepted)"
        },
        HeaderRule(check: .algorithm) { header, _, allows in
            header["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:)).map(allows) ?? false
        } found: { header, _ in
            "alg is \(DisplayText.value(header["alg"]))"
        },
    ]
}

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
