import Crypto
import CryptoExtras
import OpenIDConnect
import Primitives
import TestSupport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A key pair of a carrier.
struct TestKey: Sendable {
    enum Pair: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
    }

    static let rsa1 = rsa("rsa-1", RSAKeyPEM.first)
    static let rsa2 = rsa("rsa-2", RSAKeyPEM.second)
    static let ec1 = TestKey(keyID: "ec-1", pair: .p256(P256.Signing.PrivateKey()))
    static let ec2 = TestKey(keyID: "ec-2", pair: .p256(P256.Signing.PrivateKey()))

    var keyID: String
    let pair: Pair

    private static func rsa(_ keyID: String, _ pem: String) -> TestKey {
        do {
            return TestKey(keyID: keyID, pair: .rsa(try _RSA.Signing.PrivateKey(pemRepresentation: pem)))
        } catch {
            fatalError("No RSA key: \(error)")
        }
    }

    var algorithm: String {
        switch pair {
        case .rsa: "RS256"
        case .p256: "ES256"
        }
    }

    func named(_ keyID: String) -> TestKey { TestKey(keyID: keyID, pair: pair) }

    func sign(_ signed: [UInt8]) -> [UInt8] {
        let digest = SHA256.hash(data: signed)
        switch pair {
        case .rsa(let key):
            return Array((try? key.signature(for: digest, padding: .insecurePKCS1v1_5))?.rawRepresentation ?? Data())
        case .p256(let key):
            return Array((try? key.signature(for: digest))?.rawRepresentation ?? Data())
        }
    }

    /// RSASSA-PSS, as PS256 requires.
    func signPSS(_ signed: [UInt8]) -> [UInt8] {
        guard case .rsa(let key) = pair else { return [] }
        return Array((try? key.signature(for: SHA256.hash(data: signed), padding: .PSS))?.rawRepresentation ?? Data())
    }

    /// The public key as members of a JSON Web Key, each value as JSON text.
    var jwk: JSONDraft {
        switch pair {
        case .rsa(let key):
            let numbers = try? key.publicKey.getKeyPrimitives()
            return [
                ("kty", "\"RSA\""), ("use", "\"sig\""), ("alg", "\"RS256\""), ("kid", "\"\(keyID)\""),
                ("n", "\"\(Base64URL.encode(numbers?.modulus ?? Data()))\""),
                ("e", "\"\(Base64URL.encode(numbers?.publicExponent ?? Data()))\""),
            ]
        case .p256(let key):
            let point = Array(key.publicKey.rawRepresentation)
            return [
                ("kty", "\"EC\""), ("use", "\"sig\""), ("alg", "\"ES256\""), ("kid", "\"\(keyID)\""),
                ("crv", "\"P-256\""), ("x", "\"\(Base64URL.encode(point.prefix(32)))\""),
                ("y", "\"\(Base64URL.encode(point.suffix(32)))\""),
            ]
        }
    }

    static func keySet(_ entries: [JSONDraft]) -> String {
        #"{"keys":["# + entries.map(\.text).joined(separator: ",") + "]}"
    }

    static func keySet(_ keys: TestKey...) -> String { keySet(keys.map(\.jwk)) }
}
