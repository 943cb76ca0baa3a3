package import Crypto
import CryptoExtras
package import Primitives

/// The public half of a signing key as a JSON Web Key (RFC 7517), with only the members that its type requires.
package struct PublicJWK: Sendable {
    /// In the order of their names, as RFC 7638 section 3.2 wants them for the thumbprint.
    private let members: [(name: StaticString, value: String)]

    /// A P-256 key (RFC 7518 section 6.2.1).
    package init(_ key: P256.Signing.PublicKey) {
        let point = key.rawRepresentation
        members = [
            ("crv", "P-256"), ("kty", "EC"), ("x", Base64URL.encode(point.prefix(32))),
            ("y", Base64URL.encode(point.suffix(32))),
        ]
    }

    /// An Ed25519 key (RFC 8037 section 2).
    init(_ key: Curve25519.Signing.PublicKey) {
        members = [("crv", "Ed25519"), ("kty", "OKP"), ("x", Base64URL.encode(Array(key.rawRepresentation)))]
    }

    /// An RSA key (RFC 7518 section 6.3.1).
    init(_ key: _RSA.Signing.PublicKey) {
        // Every key that was read has its numbers.
        guard let numbers = try? key.getKeyPrimitives() else {
            members = []
            return
        }
        members = [
            ("e", Base64URL.encode(Self.significant(numbers.publicExponent))), ("kty", "RSA"),
            ("n", Base64URL.encode(Self.significant(numbers.modulus))),
        ]
    }

    /// The SHA-256 of the key in base64url, 43 characters (RFC 7638 section 3).
    package var thumbprint: String {
        var json = JSONObjectWriter(capacity: 512)
        write(to: &json)
        return Base64URL.encode(Array(SHA256.hash(data: json.finish())))
    }

    package func write(to json: inout JSONObjectWriter) {
        for member in members { json.add(member.name, member.value) }
    }

    /// With what the key is for (RFC 7517 section 4), for a set of keys.
    package func write(to json: inout JSONObjectWriter, use: String, algorithm: String, keyID: String) {
        write(to: &json)
        json.add("use", use)
        json.add("alg", algorithm)
        json.add("kid", keyID)
    }

    /// A Base64urlUInt has no leading zeros (RFC 7518 section 2).
    private static func significant(_ number: some Sequence<UInt8>) -> [UInt8] { Array(number.drop { $0 == 0 }) }
}
