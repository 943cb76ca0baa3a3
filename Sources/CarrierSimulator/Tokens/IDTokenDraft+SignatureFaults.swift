import Primitives

extension IDTokenDraft {
    /// Spoils how the token is signed. One row for each fault of this kind; other faults change nothing here.
    /// - Parameters:
    ///   - stranger: a key that the carrier does not publish.
    ///   - secret: the client's.
    mutating func changeSignature(
        _ fault: CarrierSimulator.Fault, site: CarrierSite, stranger: SigningKey, secret: Secret
    ) {
        switch fault {
        case .idTokenBadSignature: signature = .changed
        case .idTokenNoSignature: signature = .empty
        case .idTokenAlgNone: useNoAlgorithm(named: "none")
        case .idTokenAlgNoneMixedCase: useNoAlgorithm(named: "nOnE")
        case .idTokenHS256ByPublicKey: useHMAC(Array(key.publicPEM.utf8))
        case .idTokenHS256BySecret: useHMAC(Array(secret.exposed.utf8))
        case .idTokenHS256ByEmptyKey: useHMAC([])
        case .idTokenPS256: header["alg"] = "PS256"
        case .idTokenRS512: header["alg"] = "RS512"
        case .idTokenUnknownKeyID: header["kid"] = "a-key-nobody-published"
        case .idTokenStrangerKey: key = stranger
        case .idTokenKeyIDAbsentSingle, .idTokenKeyIDAbsentMultiple: header["kid"] = nil
        case .idTokenEmbeddedKeyURL:
            usePublished(stranger)
            header["jku"] = .text(site.canary("keys"))
        case .idTokenEmbeddedKey:
            usePublished(stranger)
            header["jwk"] = .object(stranger.publicJWK(keyID: stranger.keyID))
        case .idTokenCritical:
            header["crit"] = ["exp-of-the-future"]
            header["exp-of-the-future"] = true
        default: break
        }
    }

    private mutating func useNoAlgorithm(named name: String) {
        header = ["alg": .text(name)]
        signature = .empty
    }

    private mutating func useHMAC(_ bytes: [UInt8]) {
        header["alg"] = "HS256"
        signature = .hmac(key: bytes)
    }

    /// Signs with another key, and says so honestly in the header.
    private mutating func usePublished(_ other: SigningKey) {
        key = other
        header["alg"] = .text(other.algorithm)
        header["kid"] = .text(other.keyID)
    }

    /// What becomes of the compact form in the end.
    static func changeForm(_ token: String, _ faults: Set<CarrierSimulator.Fault>) -> String {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        if faults.contains(.idTokenTwoParts) { return parts.prefix(2).joined(separator: ".") }
        guard faults.contains(.idTokenFiveParts) else { return token }
        // The look of RFC 7516 section 3.1. Nothing in it can be decrypted, and nothing should try.
        let header: JSONMembers = ["alg": "RSA-OAEP", "enc": "A256GCM", "cty": "JWT"]
        let filler = Base64URL.encode([UInt8](repeating: 0xA5, count: 32))
        return "\(Base64URL.encode(header.serialized)).\(filler).\(filler).\(parts[1]).\(filler)"
    }
}
