internal import OpenIDConnect
internal import Primitives

/// The private keys of a client.
extension ClientDraft {
    /// The private key with its `kid` and its algorithm at the carriers. `hasFittingAlgorithms` has checked the latter.
    var namedKey: ClientKey? { Self.key(privateKey, privateKeyID, privateKeyAlgorithm) }

    var otherNamedKey: ClientKey? { Self.key(otherPrivateKey, otherPrivateKeyID, otherPrivateKeyAlgorithm) }

    private static func key(_ key: ClientKey?, _ id: String?, _ algorithm: SigningAlgorithm?) -> ClientKey? {
        guard let key else { return nil }
        let signing = algorithm.flatMap { key.signing(with: $0) } ?? key
        return id.map(signing.named) ?? signing
    }

    /// Whether the algorithms of the private keys fit their types.
    func hasFittingAlgorithms(_ context: inout ReadingContext) -> Bool {
        for (name, key, algorithm) in [
            ("private_key", privateKey, privateKeyAlgorithm),
            ("other_private_key", otherPrivateKey, otherPrivateKeyAlgorithm),
        ] {
            guard let algorithm else { continue }
            guard let key else {
                context.refuse(origin, "has \(name)_alg, but no \(name)", "give it or \(name)_file")
                return false
            }
            guard key.signing(with: algorithm) != nil else {
                context.refuse(
                    origin, "has \(name)_alg: \(algorithm.rawValue), which its \(name) cannot sign with",
                    "remove it, or give a key of its type")
                return false
            }
        }
        return true
    }

    /// Whether `other_private_key` fits the client's own key.
    func hasFittingKeys(_ authentication: ClientAuthentication, _ context: inout ReadingContext) -> Bool {
        guard let other = otherNamedKey else {
            guard otherPrivateKeyID == nil else {
                context.refuse(
                    origin, "has other_private_key_id, but no other_private_key", "give it or other_private_key_file")
                return false
            }
            return true
        }
        if case .signedClientSecret = authentication {
            context.refuse(
                origin, "has other_private_key, but the key of a signed_secret is not published", "remove it")
            return false
        }
        guard let key = namedKey else {
            context.refuse(origin, "has other_private_key, but no private_key", "rename it to private_key")
            return false
        }
        guard key.keyID != other.keyID else {
            context.refuse(
                origin, "has one kid for private_key and other_private_key",
                "give two different keys, each with its own kid")
            return false
        }
        return true
    }
}
