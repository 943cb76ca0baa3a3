import Crypto
import CryptoExtras
import OpenIDConnect
import Primitives
import TestSupport

/// A client's key for encrypted responses, and the public half that its provider has.
struct ResponseKeyPair: Sendable {
    let privatePEM: String
    let publicPEM: String

    static func rsa() throws -> ResponseKeyPair {
        let key = try _RSA.Signing.PrivateKey(pemRepresentation: RSAKeyPEM.third)
        return ResponseKeyPair(privatePEM: key.pemRepresentation, publicPEM: key.publicKey.pemRepresentation)
    }

    static func p256() -> ResponseKeyPair {
        let key = P256.Signing.PrivateKey()
        return ResponseKeyPair(privatePEM: key.pemRepresentation, publicPEM: key.publicKey.pemRepresentation)
    }

    func key(_ id: String) throws -> DecryptionKey { try DecryptionKey(parsing: Secret(privatePEM)).named(id) }
}
