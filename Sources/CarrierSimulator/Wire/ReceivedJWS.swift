import Crypto
import CryptoExtras
import FoundationEssentials
import Primitives

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

    /// A claim's string; nil if it is missing or empty.
    subscript(name: String) -> String? { claims[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

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

/// A client assertion as received (RFC 7523 section 3).
extension ReceivedJWS {
    /// One about an operator token is the longest.
    static let maximumAssertionBytes = 32 * 1024

    /// The `jti`, of 1 to 255 bytes.
    var assertionID: String? {
        claims["jti"]?.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
    }

    /// The first claim that violates RFC 7523 section 3 or OpenID Connect Core section 9; nil if there is none. An
    /// `aud` of several audiences is refused, because another audience could replay the assertion here.
    /// - Parameter lifetime: The most seconds from `iat` to `exp`; nil for any.
    fileprivate func assertionFault(audiences: [String], lifetime: Int64?, now: Timestamp) -> String? {
        let seconds = now.secondsSinceEpoch
        guard let audience, audiences.contains(where: audience.hasSameBytes(as:)) else { return "aud" }
        guard let issuedAt = claims["iat"]?.integer, issuedAt <= seconds + Self.clockSkew else { return "iat" }
        // At most five minutes ahead.
        guard let expiry = claims["exp"]?.integer, seconds < expiry, expiry <= seconds + 300,
            expiry.subtractingReportingOverflow(issuedAt).partialValue <= lifetime ?? .max
        else { return "exp" }
        if let notBefore = claims["nbf"] {
            guard let start = notBefore.integer, start <= seconds + Self.clockSkew else { return "nbf" }
        }
        return nil
    }

    private var audience: String? {
        guard case .array(let audiences) = claims["aud"] else { return claims["aud"]?.string }
        return audiences.count == 1 ? audiences[0].string : nil
    }
}

extension CarrierSimulator {
    /// The first claim of a client's assertion that is wrong; nil if there is none. Its `jti` is used up then.
    func fault(of assertion: ReceivedJWS, by client: Client, at site: CarrierSite, audiences: [String]) -> String? {
        // CAMARA Security and Interoperability Profile, Client Authentication.
        let lifetime: Int64? = site.carrier.operatorProfile == nil ? nil : 300
        if let fault = assertion.assertionFault(audiences: audiences, lifetime: lifetime, now: clock.now()) {
            return fault
        }
        guard let id = assertion.assertionID, withState({ $0.isFirstUse(of: id, by: "\(site.mccmnc) \(client.id)") })
        else { return "jti" }
        return nil
    }
}
