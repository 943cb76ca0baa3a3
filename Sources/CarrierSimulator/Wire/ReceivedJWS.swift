import Crypto
import CryptoExtras
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A JWS in compact form as received (RFC 7515 section 7.1), parsed and not verified.
struct ReceivedJWS: Sendable {
    /// How far the clocks of client and carrier may differ, in seconds.
    static let clockSkew: Int64 = 60

    let header: JSONObject
    let claims: JSONObject
    private let algorithm: String
    private let signed: [UInt8]
    private let signature: [UInt8]

    var type: String? { header["typ"]?.string }
    var keyID: String? { header["kid"]?.string }

    /// Nil if the text is no JWS in compact form with a header and claims in JSON, or has a `crit` header.
    init?(_ text: String, maximumBytes: Int) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= maximumBytes, parts.count == 3, let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2]),
            let fields = (try? JSONValue(parsing: header))?.object, fields["crit"] == nil,
            let algorithm = fields["alg"]?.string, let claims = (try? JSONValue(parsing: payload))?.object
        else { return nil }
        self.header = fields
        self.claims = claims
        self.algorithm = algorithm
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Verifies RS256, PS256, ES256 or EdDSA with Ed25519, whichever the header names.
    func isSigned(byKeyInPEM pem: String) -> Bool {
        let digest = SHA256.hash(data: signed)
        switch algorithm {
        case "RS256", "PS256":
            guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else { return false }
            let padding: _RSA.Signing.Padding = algorithm == "PS256" ? .PSS : .insecurePKCS1v1_5
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: padding)
        case "ES256":
            return (try? P256.Signing.PublicKey(pemRepresentation: pem)).map(isSigned) ?? false
        case "EdDSA", "Ed25519":
            return Self.ed25519(inPEM: pem)?.isValidSignature(signature, for: signed) ?? false
        default: return false
        }
    }

    /// The key of a SubjectPublicKeyInfo (RFC 8410 section 4): after twelve bytes that all of them have.
    private static func ed25519(inPEM pem: String) -> Curve25519.Signing.PublicKey? {
        let lines = pem.split(whereSeparator: \.isNewline)
        guard lines.first == "-----BEGIN PUBLIC KEY-----", lines.last == "-----END PUBLIC KEY-----",
            let bytes = Data(base64Encoded: lines.dropFirst().dropLast().joined()), bytes.count == 44,
            Array(bytes.prefix(12)) == [0x30, 0x2A, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 3, 0x21, 0]
        else { return nil }
        return try? Curve25519.Signing.PublicKey(rawRepresentation: bytes.suffix(32))
    }

    /// Verifies ES256.
    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: SHA256.hash(data: signed))
    }
}
