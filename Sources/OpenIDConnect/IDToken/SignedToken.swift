import Crypto
package import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signed JWT whose header was read, and which is not yet believed.
///
/// Of its header only what chooses the key is kept; its payload is not read before the signature holds. What a header
/// says about where keys are to be had (`jku`, `jwk`, `x5u`, `x5c`) is never looked at.
package struct SignedToken: Sendable {
    let algorithm: SigningAlgorithm
    let keyID: String?
    /// Of everything before the second dot.
    let digest: SHA256.Digest
    let signature: [UInt8]
    let payload: [UInt8]

    /// Takes a token apart, if it is in strict compact form and its header asks for nothing out of the ordinary.
    ///
    /// - Throws: ``IDTokenCheck/format``, or the check of the ``HeaderRule`` that is not met.
    package init(
        _ text: Secret, maximumBytes: Int, type: TokenType = .idToken, allows: (SigningAlgorithm) -> Bool
    ) throws(OIDCError) {
        guard let compact = CompactToken(text, maximumBytes: maximumBytes), compact.isWellFormed,
            let header = compact.header
        else { throw .failed(.format) }
        for rule in type.headerRules where !rule.isMet(header, allows) { throw .failed(rule.check) }
        // No rule lets a header without a known algorithm pass.
        guard let token = SignedToken(compact) else { throw .failed(.algorithm) }
        self = token
    }

    /// What is needed to look at the signature, whatever else is wrong with the header; nil if something of it is
    /// missing.
    init?(_ compact: CompactToken) {
        guard compact.isWellFormed, let header = compact.header, let payload = compact.payload,
            let signature = compact.signature,
            let algorithm = header["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:))
        else { return nil }
        self.algorithm = algorithm
        keyID = header["kid"]?.string
        digest = compact.digest
        self.signature = signature
        self.payload = payload
    }
}

extension CompactToken {
    /// Whether all three parts can be read; a key id, if there is one, has to be a text.
    var isWellFormed: Bool {
        guard let header, payload != nil, signature != nil else { return false }
        guard let keyID = header["kid"] else { return true }
        return keyID.string != nil
    }
}
