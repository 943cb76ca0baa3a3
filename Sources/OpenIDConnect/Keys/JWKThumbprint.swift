import Crypto
import Primitives

/// The thumbprint of a JSON Web Key (RFC 7638): the SHA-256 of its required members, in base64url.
package enum JWKThumbprint {
    /// The thumbprint of a P-256 key.
    /// - Parameters:
    ///   - x: The coordinate in base64url (RFC 7518 section 6.2.1.2).
    ///   - y: As `x`.
    package static func p256(x: String, y: String) -> String {
        of([("crv", "P-256"), ("kty", "EC"), ("x", x), ("y", y)])
    }

    /// The thumbprint of a key with these members.
    /// - Parameter members: The required members of the key's type (RFC 7638 section 3.2), in the order of their names.
    static func of(_ members: [(name: StaticString, value: String)]) -> String {
        var json = JSONObjectWriter(capacity: 160)
        for (name, value) in members { json.add(name, value) }
        return Base64URL.encode(Array(SHA256.hash(data: json.finish())))
    }
}
