import CarrierSimulator
import Crypto
import CryptoExtras
import Foundation
import Primitives
import TestSupport

/// The tests' own keys, and invalid key sets.
enum ConformanceKeys {
    /// Never nil; the cases that need it would fail.
    static let rsa = try? _RSA.Signing.PrivateKey(pemRepresentation: RSAKeyPEM.first)
    static let p384 = P384.Signing.PrivateKey()
    static let ed25519 = Curve25519.Signing.PrivateKey()

    static func rsaJWK(_ keyID: String?, use: String = "sig", alg: String? = nil) -> JSONMembers {
        let numbers = try? rsa?.publicKey.getKeyPrimitives()
        let key: JSONMembers = [
            "kty": "RSA", "use": .string(use), "n": .string(Base64URL.encode(Array(numbers?.modulus ?? Data()))),
            "e": .string(Base64URL.encode(Array(numbers?.publicExponent ?? Data()))),
        ]
        return key.with("kid", keyID.map(JSONValue.string)).with("alg", alg.map(JSONValue.string))
    }

    static func ecJWK(_ keyID: String?, use: String = "sig", curve: String = "P-256") -> JSONMembers {
        let point = Array(P256.Signing.PrivateKey().publicKey.rawRepresentation)
        let key: JSONMembers = [
            "kty": "EC", "use": .string(use), "crv": .string(curve),
            "x": .string(Base64URL.encode(Array(point.prefix(32)))),
            "y": .string(Base64URL.encode(Array(point.suffix(32)))),
        ]
        return key.with("kid", keyID.map(JSONValue.string))
    }

    static func p384JWK(_ keyID: String?) -> JSONMembers {
        let point = Array(p384.publicKey.rawRepresentation)
        let key: JSONMembers = [
            "kty": "EC", "use": "sig", "crv": "P-384", "x": .string(Base64URL.encode(Array(point.prefix(48)))),
            "y": .string(Base64URL.encode(Array(point.suffix(48)))),
        ]
        return key.with("kid", keyID.map(JSONValue.string))
    }

    static func ed25519JWK(_ keyID: String?) -> JSONMembers {
        let key: JSONMembers = [
            "kty": "OKP", "use": "sig", "crv": "Ed25519",
            "x": .string(Base64URL.encode(Array(ed25519.publicKey.rawRepresentation))),
        ]
        return key.with("kid", keyID.map(JSONValue.string))
    }

    static func rsaSignature(_ input: [UInt8]) -> [UInt8] {
        let signature = try? rsa?.signature(for: SHA256.hash(data: input), padding: .insecurePKCS1v1_5)
        return Array(signature?.rawRepresentation ?? Data())
    }

    /// The signature for a key with the exponent 1: the padded hash itself (RFC 8017 section 9.2).
    static func signatureForExponentOne(_ input: [UInt8]) -> [UInt8] {
        let algorithm: [UInt8] = [
            0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04,
            0x20,
        ]
        let end = [0] + algorithm + Array(SHA256.hash(data: input))
        return [0, 1] + [UInt8](repeating: 0xFF, count: 254 - end.count) + end
    }

    /// A number of `bytes` bytes that looks like a modulus.
    static func modulus(bytes: Int, first: UInt8 = 0xC5, last: UInt8 = 0xC5) -> JSONValue {
        var number = [UInt8](repeating: 0xC5, count: bytes)
        number[0] = first
        number[bytes - 1] = last
        return .string(Base64URL.encode(number))
    }

    /// Encodings of a public key that implementations have used as an HMAC key (RFC 8725 section 2.1).
    static func mistakenSecrets(_ draft: TokenDraft) -> [String: [UInt8]] {
        let pem = draft.publicPEM.trimmingCharacters(in: .whitespacesAndNewlines)
        let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        let der = Array(Data(base64Encoded: base64) ?? Data())
        // The inner key of a SubjectPublicKeyInfo for RSA with 2048 bits begins after 24 bytes.
        let pkcs1 = Array(der.dropFirst(24))
        let pkcs1Base64 = Data(pkcs1).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        let pkcs1PEM = "-----BEGIN RSA PUBLIC KEY-----\n\(pkcs1Base64)\n-----END RSA PUBLIC KEY-----"
        let jwk = draft.publicJWK
        return [
            "spki-pem": Array(pem.utf8), "spki-pem-newline": Array((pem + "\n").utf8), "spki-der": der,
            "spki-base64": Array(base64.utf8), "pkcs1-pem": Array(pkcs1PEM.utf8),
            "pkcs1-pem-newline": Array((pkcs1PEM + "\n").utf8), "pkcs1-der": pkcs1, "jwk": jwk.serialized,
            "n": Array((jwk["n"]?.string ?? "").utf8), "e": Array((jwk["e"]?.string ?? "").utf8),
            "RSA": Array("RSA".utf8),
            "RS256": Array("RS256".utf8), "empty": [],
        ]
    }

    static let mistakenSecretNames = [
        "spki-pem", "spki-pem-newline", "spki-der", "spki-base64", "pkcs1-pem", "pkcs1-pem-newline", "pkcs1-der", "jwk",
        "n", "e", "RSA", "RS256", "empty",
    ]
}
