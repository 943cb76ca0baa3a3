import Crypto
import Primitives

@testable import OpenIDConnect

/// Encrypts for a client with the same keys each time, so that findings can be repeated.
enum Encryptor {
    private static let signing = try? P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 1, count: 32))

    /// How the client decrypts.
    static let decryption: ResponseDecryption? =
        signing.flatMap { try? DecryptionKey(parsing: Secret($0.pemRepresentation)) }
        .map { ResponseDecryption(key: $0, encryption: .a128GCM) }

    /// A point on the curve, for the provider's ephemeral key.
    private static let ephemeral = try? P256.KeyAgreement.PrivateKey(
        rawRepresentation: [UInt8](repeating: 2, count: 32))

    /// A good header.
    static let header: [UInt8] = {
        let point = ephemeral.map { Array($0.publicKey.rawRepresentation) } ?? []
        let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
        let epk = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#
        return Array(#"{"alg":"ECDH-ES","enc":"A128GCM","epk":\#(epk)}"#.utf8)
    }()

    private static let contentKey: SymmetricKey? = {
        guard let signing, let ephemeral,
            let theirs = try? P256.KeyAgreement.PublicKey(rawRepresentation: signing.publicKey.rawRepresentation),
            let secret = try? ephemeral.sharedSecretFromKeyAgreement(with: theirs)
        else { return nil }
        return ConcatKDF.key(from: secret, for: .a128GCM, apu: [], apv: [])
    }()

    /// With the content key that the ephemeral key and the client's agree on.
    static func token(header: [UInt8] = Encryptor.header, content: [UInt8]) -> String {
        let protected = Base64URL.encode(header)
        guard let contentKey, let nonce = try? AES.GCM.Nonce(data: [UInt8](repeating: 3, count: 12)),
            let box = try? AES.GCM.seal(
                content, using: contentKey, nonce: nonce, authenticating: Array(protected.utf8))
        else { return protected }
        return "\(protected)..\(Base64URL.encode(Array(box.nonce))).\(Base64URL.encode(Array(box.ciphertext)))."
            + Base64URL.encode(Array(box.tag))
    }
}
