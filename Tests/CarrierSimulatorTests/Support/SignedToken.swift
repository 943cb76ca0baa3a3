import Crypto
import CryptoExtras
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A parsed token. Uses no code of the simulator or the relying party.
struct SignedToken {
    let parts: [String]
    let header: JSONObject
    let claims: JSONObject
    let input: [UInt8]
    let signature: [UInt8]

    init(_ text: String) throws {
        parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        header = try JSONValue(parsing: try Base64URL.decode(parts[0]).required).object.required
        claims = try JSONValue(parsing: try Base64URL.decode(parts[1]).required).object.required
        input = Array("\(parts[0]).\(parts[1])".utf8)
        signature = try Base64URL.decode(parts[2]).required
    }

    var algorithm: String? { header["alg"]?.string }
    var keyID: String? { header["kid"]?.string }

    /// Whether a public JWK verifies the signature with an algorithm, by default the header's.
    func isSigned(by key: JSONObject, as algorithm: String? = nil) -> Bool {
        switch algorithm ?? self.algorithm {
        case "ES256": isES256(by: key)
        case "RS256": isRSA(by: key, SHA256.hash(data: input), .insecurePKCS1v1_5)
        case "RS512": isRSA(by: key, SHA512.hash(data: input), .insecurePKCS1v1_5)
        case "PS256": isRSA(by: key, SHA256.hash(data: input), .PSS)
        default: false
        }
    }

    func isAuthenticated(by secret: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: input, using: SymmetricKey(data: secret))
    }

    private func isES256(by key: JSONObject) -> Bool {
        guard let x = number(key, "x"), let y = number(key, "y"),
            let publicKey = try? P256.Signing.PublicKey(rawRepresentation: x + y),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return publicKey.isValidSignature(signature, for: input)
    }

    private func isRSA(by key: JSONObject, _ digest: some Crypto.Digest, _ padding: _RSA.Signing.Padding) -> Bool {
        guard let publicKey = Self.rsaKey(key) else { return false }
        return publicKey.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature), for: digest, padding: padding)
    }

    /// The key for Crypto, which accepts keys of less than 2048 bits only in DER.
    static func rsaKey(_ key: JSONObject) -> _RSA.Signing.PublicKey? {
        guard let n = key["n"]?.string.flatMap({ Base64URL.decode($0) }),
            let e = key["e"]?.string.flatMap({ Base64URL.decode($0) })
        else { return nil }
        if n.count >= 256 { return try? _RSA.Signing.PublicKey(n: n, e: e) }
        let body = integer(n) + integer(e)
        return try? _RSA.Signing.PublicKey(unsafeDERRepresentation: [0x30] + length(body.count) + body)
    }

    private func number(_ key: JSONObject, _ name: String) -> [UInt8]? {
        key[name]?.string.flatMap { Base64URL.decode($0) }
    }

    private static func integer(_ magnitude: [UInt8]) -> [UInt8] {
        let bytes = (magnitude.first ?? 0) > 127 ? [0] + magnitude : magnitude
        return [0x02] + length(bytes.count) + bytes
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 128 { return [UInt8(count)] }
        return count < 256 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
    }
}
