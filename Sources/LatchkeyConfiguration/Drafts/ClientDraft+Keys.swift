internal import HTTPCore
internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// A private key to sign with, while it is read.
struct SigningKeyDraft: Sendable {
    var key: ClientKey?
    var id: String?
    var algorithm: SigningAlgorithm?

    /// The key with its `kid` and its algorithm, which fits it.
    var named: ClientKey? {
        guard let key else { return nil }
        let signing = algorithm.flatMap { key.signing(with: $0) } ?? key
        return id.map(signing.named) ?? signing
    }
}

/// A private key to decrypt with, while it is read.
struct DecryptionKeyDraft: Sendable {
    var key: DecryptionKey?
    var id: String?

    var named: DecryptionKey? {
        guard let key, let id else { return key }
        return key.named(id)
    }
}

/// How one kind of response is encrypted, while it is read.
struct EncryptionDraft: Sendable {
    var algorithm: KeyManagementAlgorithm?
    var encryption: ContentEncryption?
}

/// The keys of a client, which must fit its other settings.
extension ClientDraft {
    func checkAlgorithms() throws(InvalidValueError) {
        for (name, draft) in [("private_key", privateKey), ("other_private_key", otherPrivateKey)] {
            guard let algorithm = draft.algorithm else { continue }
            guard let key = draft.key else {
                throw InvalidValueError("has \(name)_alg, but no \(name)", "give it or \(name)_file")
            }
            try require(
                key.signing(with: algorithm) != nil,
                else: "has \(name)_alg: \(algorithm.rawValue), which its \(name) cannot sign with",
                "remove it, or give a key of its type")
        }
    }

    /// `other_private_key` must fit the client's own key.
    func checkOtherKey(_ authentication: ClientAuthentication) throws(InvalidValueError) {
        guard let other = otherPrivateKey.named else {
            try require(
                otherPrivateKey.id == nil, else: "has other_private_key_id, but no other_private_key",
                "give it or other_private_key_file")
            return
        }
        if case .signedClientSecret = authentication {
            throw InvalidValueError(
                "has other_private_key, but the key of a signed_secret is not published", "remove it")
        }
        guard let key = privateKey.named else {
            throw InvalidValueError("has other_private_key, but no private_key", "rename it to private_key")
        }
        try require(
            key.keyID != other.keyID, else: "has one kid for private_key and other_private_key",
            "give two different keys, each with its own kid")
    }

    /// How one kind of response is encrypted; nil if it is not.
    func decryption(_ draft: EncryptionDraft) -> ResponseDecryption? {
        guard draft.algorithm != nil, let key = decryptionKey.named else { return nil }
        return ResponseDecryption(
            key: key, otherKey: otherDecryptionKey.named, encryption: draft.encryption ?? .a256GCM)
    }

    func checkDecryption() throws(InvalidValueError) {
        let kinds = [("id_token_encrypted_response", idTokens), ("userinfo_encrypted_response", userInfo)]
        let names = kinds.flatMap { ["\($0.0)_alg", "\($0.0)_enc"] }
        let keyNames = ["decryption_key", "decryption_key_id", "other_decryption_key", "other_decryption_key_id"]
        guard let given = (names + keyNames).first(where: { place.given[$0] != nil }) else { return }
        if let half = kinds.first(where: { $0.1.algorithm == nil && $0.1.encryption != nil })?.0 {
            throw InvalidValueError(
                "has \(half)_enc, but no \(half)_alg", "give it as the client is registered, or remove the other")
        }
        let algorithms = kinds.compactMap { name, draft in draft.algorithm.map { (name: "\(name)_alg", $0) } }
        guard let first = algorithms.first else {
            throw InvalidValueError(
                "has \(given), but no \(kinds.map { "\($0.0)_alg" }.joined(separator: " or "))",
                "give it as the client is registered, or remove the settings of encryption")
        }
        try require(
            decryptionKey.key != nil, else: "has \(first.name), but no decryption_key",
            "give it or decryption_key_file, or remove the algorithm")
        try require(
            otherDecryptionKey.key != nil || otherDecryptionKey.id == nil,
            else: "has other_decryption_key_id, but no other_decryption_key", "give it or other_decryption_key_file")
        for (name, algorithm) in algorithms {
            for (keyName, draft) in [("decryption_key", decryptionKey), ("other_decryption_key", otherDecryptionKey)] {
                guard let key = draft.key, key.algorithm != algorithm else { continue }
                throw InvalidValueError(
                    "has \(name): \(algorithm.rawValue), which its \(keyName) is not for",
                    "make it \(key.algorithm.rawValue), or give a key of its type")
            }
        }
        try require(
            decryptionKey.named?.keyID != otherDecryptionKey.named?.keyID,
            else: "has one kid for decryption_key and other_decryption_key",
            "give two different keys, each with its own kid")
    }

    /// Reads ``certificateFile``, which must be usable with ``certificateKey``; false after reporting what is wrong
    /// with the file.
    package mutating func readCertificate(_ context: inout ReadingContext) throws(InvalidValueError) -> Bool {
        guard let path = certificateFile else {
            try require(
                certificateKey == nil, else: "has certificate_key, but no certificate_file", "give it")
            return true
        }
        guard let key = certificateKey else {
            throw InvalidValueError(
                "has certificate_file, but no certificate_key", "give certificate_key_file, the key's file")
        }
        let problem: InvalidValueError
        do throws(FileReader.ReadError) {
            let chain = try context.files.contents(of: path, limit: Self.maximumChainBytes).bytes
            do throws(TLSError) {
                rules.clientTLS = ClientTLS(try Self.certificate(chain, key))
                return true
            } catch {
                let isOfKey = [.keyUnreadable, .keyEncrypted].contains(error.code)
                problem = InvalidValueError(isOfKey ? "certificate_key \(error)" : "\(error)", error.remedy)
            }
        } catch {
            problem = InvalidValueError(
                "the file \(Printable.line(path)) \(error.reason)", "give the path of a readable PEM file")
        }
        context.beneath(".certificate_file") { $0.refuse(place.origin, problem.reason, problem.remedy ?? "") }
        return false
    }

    private static let maximumChainBytes = 64 * 1024

    private static func certificate(_ chain: [UInt8], _ key: Secret) throws(TLSError) -> TLSClientCertificate {
        let tls = try TLSContext(presenting: chain, privateKey: key, trustingAs: nil)
        guard
            let certificate = TLSClientCertificate(
                chain: chain, privateKey: key, subject: tls.subject ?? "", validity: tls.validity,
                isSelfIssued: tls.isSelfIssued)
        else { throw TLSError(code: .certificateUnreadable, detail: "") }
        return certificate
    }
}
