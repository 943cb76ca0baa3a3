/// A signature and the keys that may have made it.
package struct SignatureValidationContext {
    let token: SignedToken
    let keys: JSONWebKeySet
    package let candidates: [PublicKey]

    package init(_ token: SignedToken, keys: JSONWebKeySet) {
        self.token = token
        self.keys = keys
        candidates = keys.candidates(for: token)
    }

    /// Whether one of the candidates verifies the signature.
    package var verifies: Bool {
        candidates.contains { $0.verifies(token.signature, of: token.signed, by: token.algorithm) }
    }

    /// The rules for the signature of a token, in the order in which it is refused by them.
    static let signatureRules: [TokenRule<IDTokenCheck, Self>] = [
        .init(.key, { !$0.candidates.isEmpty }) { context in
            let named = context.token.keyID.map { "kid is «\(DisplayText.line($0))»" } ?? "the token has no kid"
            return "\(named); the provider's usable keys: \(context.keys.summary)"
        },
        .init(.signature, { $0.verifies }) { context in
            let size = "\(context.token.signature.count) bytes by \(context.token.algorithm.rawValue)"
            return "\(size), checked with \(context.candidates.count) of the keys"
        },
    ]
}

extension JSONWebKeySet {
    /// `«k1» (RS256), one without kid (ES256)`
    var summary: String {
        let shown = keys.prefix(8).map { key in
            let name = key.keyID.map { "«\(DisplayText.line($0))»" } ?? "one without kid"
            return "\(name) (\(key.algorithms.map(\.rawValue).joined(separator: " or ")))"
        }
        let rest = keys.count > shown.count ? ", … (\(keys.count) in all)" : ""
        return shown.isEmpty ? "none" : shown.joined(separator: ", ") + rest
    }
}
