internal import OpenIDConnect
internal import Primitives

/// The keys of a client's encrypted responses, which must fit what is encrypted.
extension ClientDraft {
    /// How one kind of response is encrypted; nil if it is not.
    func decryption(_ algorithm: KeyManagementAlgorithm?, _ encryption: ContentEncryption?) -> ResponseDecryption? {
        guard algorithm != nil, let key = Self.named(decryptionKey, decryptionKeyID) else { return nil }
        return ResponseDecryption(
            key: key, otherKey: Self.named(otherDecryptionKey, otherDecryptionKeyID),
            encryption: encryption ?? .a256GCM)
    }

    private static func named(_ key: DecryptionKey?, _ id: String?) -> DecryptionKey? {
        guard let key, let id else { return key }
        return key.named(id)
    }

    /// The algorithms of each kind of response, with the names of their settings.
    private var registered: [(alg: String, enc: String, KeyManagementAlgorithm?, ContentEncryption?)] {
        [
            (
                "id_token_encrypted_response_alg", "id_token_encrypted_response_enc", idTokenKeyManagement,
                idTokenEncryption
            ),
            (
                "userinfo_encrypted_response_alg", "userinfo_encrypted_response_enc", userInfoKeyManagement,
                userInfoEncryption
            ),
        ]
    }

    /// The first setting of encrypted responses that is given.
    private var givenSetting: String? {
        let algorithms = registered.flatMap { [($0.alg, $0.2 != nil), ($0.enc, $0.3 != nil)] }
        let keys = [
            ("decryption_key", decryptionKey != nil), ("decryption_key_id", decryptionKeyID != nil),
            ("other_decryption_key", otherDecryptionKey != nil),
            ("other_decryption_key_id", otherDecryptionKeyID != nil),
        ]
        return (algorithms + keys).first { $0.1 }?.0
    }

    /// Whether the settings of encrypted responses fit each other.
    func hasFittingDecryption(_ context: inout ReadingContext, hasIDTokens: Bool) -> Bool {
        guard let given = givenSetting else { return true }
        guard hasIDTokens else {
            context.refuse(origin, "has \(given), but its provider has no ID tokens", "remove it")
            return false
        }
        if let half = registered.first(where: { $0.2 == nil && $0.3 != nil }) {
            context.refuse(
                origin, "has \(half.enc), but no \(half.alg)",
                "give it as the client is registered, or remove the other")
            return false
        }
        let algorithms = registered.compactMap { alg, _, algorithm, _ in algorithm.map { (name: alg, $0) } }
        guard let first = algorithms.first else {
            context.refuse(
                origin, "has \(given), but no \(registered.map(\.alg).joined(separator: " or "))",
                "give it as the client is registered, or remove the settings of encryption")
            return false
        }
        guard let decryptionKey else {
            context.refuse(
                origin, "has \(first.name), but no decryption_key",
                "give it or decryption_key_file, or remove the algorithm")
            return false
        }
        return hasFittingKeys(for: algorithms, decryptionKey, &context)
    }

    private func hasFittingKeys(
        for algorithms: [(name: String, KeyManagementAlgorithm)], _ decryptionKey: DecryptionKey,
        _ context: inout ReadingContext
    ) -> Bool {
        guard otherDecryptionKey != nil || otherDecryptionKeyID == nil else {
            context.refuse(
                origin, "has other_decryption_key_id, but no other_decryption_key",
                "give it or other_decryption_key_file")
            return false
        }
        for (name, algorithm) in algorithms {
            for (keyName, key) in [("decryption_key", decryptionKey), ("other_decryption_key", otherDecryptionKey)] {
                guard let key, key.algorithm != algorithm else { continue }
                context.refuse(
                    origin, "has \(name): \(algorithm.rawValue), which its \(keyName) is not for",
                    "make it \(key.algorithm.rawValue), or give a key of its type")
                return false
            }
        }
        let other = Self.named(otherDecryptionKey, otherDecryptionKeyID)
        guard Self.named(decryptionKey, decryptionKeyID)?.keyID != other?.keyID else {
            context.refuse(
                origin, "has one kid for decryption_key and other_decryption_key",
                "give two different keys, each with its own kid")
            return false
        }
        return true
    }
}
