import Crypto
import CryptoExtras
import Foundation
import OpenIDConnect
import Primitives
import Testing

/// An encrypted token in five parts, each of which a test can change. It shares no code with the reader.
struct EncryptedTokenDraft {
    var header: JSONDraft
    var encryptedKey: [UInt8] = []
    var key = SymmetricKey(size: .bits128)
    var nonce = [UInt8](repeating: 7, count: 12)
    var content: [UInt8] = Array("e30.e30.c2ln".utf8)
    /// Changes the parts after the encryption.
    var change: (inout [String]) -> Void = { _ in }

    var text: String {
        get throws {
            let protected = Base64URL.encode(Array(header.text.utf8))
            let box = try AES.GCM.seal(
                content, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: Array(protected.utf8))
            var parts = [
                protected, Base64URL.encode(encryptedKey), Base64URL.encode(nonce),
                Base64URL.encode(Array(box.ciphertext)), Base64URL.encode(Array(box.tag)),
            ]
            change(&parts)
            return parts.joined(separator: ".")
        }
    }
}

/// Drafts for two keys, and the keys.
extension EncryptedTokenDraft {
    private static let p256 = P256.KeyAgreement.PrivateKey()
    static let rsaKeyPair: _RSA.Signing.PrivateKey? = {
        guard case .rsa(let key) = TestKey.rsa1.pair else { return nil }
        return key
    }()

    static func quoted(_ bytes: some Collection<UInt8>) -> String { "\"\(Base64URL.encode(Array(bytes)))\"" }

    /// For an RSA key.
    static func rsa(_ encryption: ContentEncryption = .a256GCM) throws -> EncryptedTokenDraft {
        let size: SymmetricKeySize = encryption == .a128GCM ? .bits128 : .bits256
        var draft = EncryptedTokenDraft(header: [("alg", "\"RSA-OAEP-256\""), ("enc", "\"\(encryption.rawValue)\"")])
        draft.key = SymmetricKey(size: size)
        draft.encryptedKey = try encrypted(draft.key.withUnsafeBytes { Array($0) })
        return draft
    }

    static func encrypted(_ key: [UInt8], _ padding: _RSA.Encryption.Padding = .PKCS1_OAEP_SHA256) throws
        -> [UInt8]
    {
        let der = try #require(rsaKeyPair).publicKey.derRepresentation
        return Array(try _RSA.Encryption.PublicKey(derRepresentation: der).encrypt(key, padding: padding))
    }

    /// For the P-256 key, with a derivation that shares no code with the reader.
    static func ec(
        _ encryption: ContentEncryption = .a128GCM, apu: [UInt8]? = nil, apv: [UInt8]? = nil
    ) throws -> EncryptedTokenDraft {
        let ephemeral = P256.KeyAgreement.PrivateKey()
        let point = Array(ephemeral.publicKey.rawRepresentation)
        let epk =
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\(quoted(point.prefix(32))),\"y\":\(quoted(point.suffix(32)))}"
        var header: JSONDraft = [("alg", "\"ECDH-ES\""), ("enc", "\"\(encryption.rawValue)\""), ("epk", epk)]
        if let apu { header.add("apu", quoted(apu)) }
        if let apv { header.add("apv", quoted(apv)) }
        var draft = EncryptedTokenDraft(header: header)
        let secret = try ephemeral.sharedSecretFromKeyAgreement(with: p256.publicKey)
        func part(_ bytes: [UInt8]) -> [UInt8] { [0, 0, UInt8(bytes.count / 256), UInt8(bytes.count % 256)] + bytes }
        let bits: [UInt8] = encryption == .a128GCM ? [0, 0, 0, 128] : [0, 0, 1, 0]
        let input =
            [0, 0, 0, 1] + secret.withUnsafeBytes { Array($0) } + part(Array(encryption.rawValue.utf8))
            + part(apu ?? []) + part(apv ?? []) + bits
        draft.key = SymmetricKey(data: Array(SHA256.hash(data: input)).prefix(encryption == .a128GCM ? 16 : 32))
        return draft
    }

    static func rsaKey() throws -> DecryptionKey {
        try DecryptionKey(parsing: Secret(try #require(rsaKeyPair).pemRepresentation)).named("rsa")
    }

    static func ecKey() throws -> DecryptionKey {
        let key = try P256.Signing.PrivateKey(rawRepresentation: p256.rawRepresentation)
        return try DecryptionKey(parsing: Secret(key.pemRepresentation)).named("ec")
    }

    /// A key that no draft is for.
    static func otherKey() throws -> DecryptionKey {
        try DecryptionKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
    }
}
