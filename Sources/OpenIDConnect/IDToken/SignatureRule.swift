/// One rule for the signature of an ID token. A sign-in and an explanation walk the same list.
struct SignatureRule: Sendable {
    let check: IDTokenCheck
    let isMet: @Sendable (SignatureValidationContext) -> Bool
    /// What there is, for an explanation.
    let found: @Sendable (SignatureValidationContext) -> String

    /// In the order in which a sign-in is refused by them.
    static let all: [SignatureRule] = [
        SignatureRule(check: .key) { evidence in
            !evidence.candidates.isEmpty
        } found: { evidence in
            let named = evidence.token.keyID.map { "kid is «\(DisplayText.line($0))»" } ?? "the token has no kid"
            return "\(named); the provider's usable keys: \(evidence.keys.summary)"
        },
        SignatureRule(check: .signature) { evidence in
            evidence.candidates.contains { $0.verifies(evidence.token.signature, for: evidence.token.digest) }
        } found: { evidence in
            let count = evidence.token.signature.count
            return
                "\(count) bytes by \(evidence.token.algorithm.rawValue), tried with \(evidence.candidates.count) of them"
        },
    ]
}

/// A signature beside the keys that may have made it.
struct SignatureValidationContext {
    let token: SignedToken
    let keys: JSONWebKeySet
    let candidates: [PublicKey]

    init(_ token: SignedToken, keys: JSONWebKeySet) {
        self.token = token
        self.keys = keys
        candidates = keys.candidates(for: token)
    }
}

extension JSONWebKeySet {
    /// `«k1» (RS256), one without kid (ES256)`
    var summary: String {
        let shown = keys.prefix(8).map { key in
            let name = key.keyID.map { "«\(DisplayText.line($0))»" } ?? "one without kid"
            return "\(name) (\(key.algorithm.rawValue))"
        }
        let rest = keys.count > shown.count ? ", … (\(keys.count) in all)" : ""
        return shown.isEmpty ? "none" : shown.joined(separator: ", ") + rest
    }
}
