package import Primitives

/// A signed JWT whose header is read and whose signature is not checked yet.
///
/// Of its header, only what selects the key is kept. The payload is not read before the signature verifies. The
/// header's `jku`, `jwk`, `x5u` and `x5c`, which name or contain keys, are never used.
package struct SignedToken: Sendable {
    let algorithm: SigningAlgorithm
    package let keyID: String?
    /// Nil for a token that is marked as another one than an ID token.
    package let type: IDTokenType?
    /// Everything before the second dot.
    let signed: SignedContent
    let signature: [UInt8]
    package let payload: [UInt8]

    /// Reads a token in strict compact form whose header meets every rule for its type.
    ///
    /// - Parameter algorithms: What the token may be signed with.
    /// - Throws: ``IDTokenCheck/format``, or the check of the rule that is not met.
    package init(
        _ text: Secret, maximumBytes: Int, type: TokenType = .idToken(IDTokenType.standard),
        signedWith algorithms: Set<SigningAlgorithm>
    ) throws(OIDCError) {
        guard let compact = CompactToken(text, maximumBytes: maximumBytes), compact.isWellFormed,
            let header = compact.header
        else { throw .failed(.format) }
        let context = HeaderValidationContext(header: header, type: type, algorithms: algorithms)
        for rule in HeaderValidationContext.headerRules where !rule.isMet(context) { throw .failed(rule.check) }
        // The rules refuse a header without a known algorithm.
        guard let token = SignedToken(compact) else { throw .failed(.algorithm) }
        self = token
    }

    /// What is needed to check the signature, even if the header breaks a rule; nil if something of it is missing.
    init?(_ compact: CompactToken) {
        guard compact.isWellFormed, let header = compact.header, let payload = compact.payload.bytes,
            let signature = compact.signature.bytes, let algorithm = compact.algorithm, let signed = compact.signed
        else { return nil }
        self.algorithm = algorithm
        keyID = header["kid"]?.string
        type = IDTokenType(header["typ"])
        self.signed = signed
        self.signature = signature
        self.payload = payload
    }

    /// SHA-256 of what is signed; nil if the algorithm uses another hash.
    package var sha256: [UInt8]? {
        guard case .sha256(let digest) = signed else { return nil }
        return Array(digest)
    }
}

extension CompactToken {
    /// Whether all three parts can be read. A key id must be a text.
    var isWellFormed: Bool {
        guard let header, payload.bytes != nil, signature.bytes != nil else { return false }
        guard let keyID = header["kid"] else { return true }
        return keyID.string != nil
    }
}
