import Crypto
package import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signed JWT in compact form (RFC 7515 section 7.1), taken apart and not yet believed.
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
    /// - Throws: ``IDTokenCheck/format``, ``IDTokenCheck/criticalHeader``, ``IDTokenCheck/type`` or
    ///   ``IDTokenCheck/algorithm`` as the failed check.
    package init(
        _ text: Secret, maximumBytes: Int, allows: (SigningAlgorithm) -> Bool
    ) throws(OIDCError) {
        var text = text.exposed
        // Counted before anything is decoded: a large token costs nothing.
        guard text.utf8.count <= maximumBytes else { throw .failed(.format) }
        let parsed = text.withUTF8 { bytes in
            Result { () throws(OIDCError) in try SignedToken(bytes, allows: allows) }
        }
        self = try parsed.get()
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>, allows: (SigningAlgorithm) -> Bool) throws(OIDCError) {
        guard let parts = Self.parts(of: bytes), let header = Base64URL.decode(parts.header),
            let payload = Base64URL.decode(parts.payload), let signature = Base64URL.decode(parts.signature),
            let fields = (try? JSONValue(parsing: header))?.object
        else { throw .failed(.format) }
        // RFC 7515 section 4.1.11: an extension that must be understood, and we understand none. RFC 7797's b64 would
        // change what is signed.
        guard fields["crit"] == nil, fields["b64"] == nil else { throw .failed(.criticalHeader) }
        // RFC 8725 section 3.11: a token of another kind (logout+jwt, at+jwt, port_token+jwt) is not an ID token.
        if let type = fields["typ"] {
            guard type.string?.lowercased() == "jwt" else { throw .failed(.type) }
        }
        guard let algorithm = fields["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:)),
            allows(algorithm)
        else { throw .failed(.algorithm) }
        if let keyID = fields["kid"] {
            guard let text = keyID.string else { throw .failed(.format) }
            self.keyID = text
        } else {
            keyID = nil
        }
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(parts.signed))
        self.algorithm = algorithm
        self.digest = hash.finalize()
        self.signature = signature
        self.payload = payload
    }

    private struct Parts {
        let header, payload, signature, signed: UnsafeBufferPointer<UInt8>
    }

    /// The three parts, or nil if one is empty. A fourth would leave a dot in the third, which is no base64url.
    private static func parts(of bytes: UnsafeBufferPointer<UInt8>) -> Parts? {
        let dot = UInt8(ascii: ".")
        guard let first = bytes.firstIndex(of: dot), let second = bytes[(first + 1)...].firstIndex(of: dot),
            first > 0, second > first + 1, second < bytes.count - 1
        else { return nil }
        return Parts(
            header: UnsafeBufferPointer(rebasing: bytes[..<first]),
            payload: UnsafeBufferPointer(rebasing: bytes[(first + 1)..<second]),
            signature: UnsafeBufferPointer(rebasing: bytes[(second + 1)...]),
            signed: UnsafeBufferPointer(rebasing: bytes[..<second]))
    }
}
