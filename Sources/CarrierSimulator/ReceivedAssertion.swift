import Crypto
import CryptoExtras
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A client assertion as it came (RFC 7523 section 3), taken apart and not yet believed.
struct ReceivedAssertion: Sendable {
    /// The claim that is not as it must be.
    enum Fault: String, Sendable {
        case iss, aud, iat, exp, nbf, jti
    }

    static let maximumBytes = 16 * 1024
    /// How far ahead the end of an assertion may lie, in seconds.
    static let maximumLifetime: Int64 = 300
    static let clockSkew: Int64 = 60

    let keyID: String?
    private let algorithm: String
    private let claims: JSONObject
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// Nil if the text is no JWS in compact form, with a header and claims in JSON.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maximumBytes, parts.count == 3,
            let header = Base64URL.decode(String(parts[0])), let payload = Base64URL.decode(String(parts[1])),
            let signature = Base64URL.decode(String(parts[2])),
            let fields = (try? JSONValue(parsing: header))?.object, fields["crit"] == nil,
            let algorithm = fields["alg"]?.string, let claims = (try? JSONValue(parsing: payload))?.object
        else { return nil }
        keyID = fields["kid"]?.string
        self.algorithm = algorithm
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    var subject: String? { claims["sub"]?.string }

    /// 1 to 255 bytes.
    var id: String? {
        claims["jti"]?.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
    }

    func isSigned(byKeyInPEM pem: String) -> Bool {
        let digest = SHA256.hash(data: signed)
        switch algorithm {
        case "RS256":
            guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) else { return false }
            return key.isValidSignature(
                .init(rawRepresentation: signature), for: digest, padding: .insecurePKCS1v1_5)
        case "ES256":
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        default: return false
        }
    }

    /// The first claim that is not as RFC 7523 section 3 and OpenID Connect Core section 9 want it. An `aud` of several
    /// is refused: another of them could use the assertion here.
    func fault(audiences: [String], now: Timestamp) -> Fault? {
        let seconds = now.secondsSinceEpoch
        guard let issuer = claims["iss"]?.string, issuer == subject else { return .iss }
        guard let audience = audience, audiences.contains(where: audience.hasSameBytes(as:)) else { return .aud }
        guard let issuedAt = claims["iat"]?.integer, issuedAt <= seconds + Self.clockSkew else { return .iat }
        guard let expiry = claims["exp"]?.integer, seconds < expiry, expiry <= seconds + Self.maximumLifetime
        else { return .exp }
        if let notBefore = claims["nbf"] {
            guard let start = notBefore.integer, start <= seconds + Self.clockSkew else { return .nbf }
        }
        return id == nil ? .jti : nil
    }

    private var audience: String? {
        guard case .array(let audiences) = claims["aud"] else { return claims["aud"]?.string }
        return audiences.count == 1 ? audiences[0].string : nil
    }
}
