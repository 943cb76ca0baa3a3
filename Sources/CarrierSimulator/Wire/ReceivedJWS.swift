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

/// A request object as received (RFC 9101, OpenID Connect Core section 6.1).
extension ReceivedJWS {
    static let maximumRequestObjectBytes = 32 * 1024

    /// A claim's string; nil if it is missing or empty.
    subscript(name: String) -> String? { claims[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// - Throws: `invalid_request_object` if the client did not sign it, or if its issuer, audience or time is wrong.
    func checkRequestObject(
        client: CarrierSimulator.Client, issuer: String, responseType: String, now: Timestamp
    ) throws(OAuthError) {
        guard let pem = client.requestObjectPEM, isSigned(byKeyInPEM: pem)
        else { throw .invalidObject("The request's signature is not the client's.") }
        guard self["iss"] == client.id, self["client_id"] == client.id
        else { throw .invalidObject("The request's iss or client_id is not the client.") }
        guard self["aud"] == issuer else { throw .invalidObject("The request's aud is not this carrier.") }
        let seconds = now.secondsSinceEpoch
        guard let issued = claims["iat"]?.integer, issued <= seconds + Self.clockSkew,
            let expiry = claims["exp"]?.integer, expiry > seconds - Self.clockSkew
        else { throw .invalidObject("The request's iat or exp is missing or out of range.") }
        guard self["jti"] != nil else { throw .invalidObject("The request has no jti.") }
        guard self["response_type"] == responseType
        else { throw .invalidObject("The request's response_type must be \(responseType).") }
    }

    /// The parameters of an authorization request, by the rules of FAPI 2.0 Message Signing section 5.3.1.
    /// - Throws: `invalid_request_object`.
    func authorizationParameters(
        client: CarrierSimulator.Client, issuer: String, now: Timestamp
    ) throws(OAuthError) -> Parameters {
        guard type == "oauth-authz-req+jwt"
        else { throw .invalidObject("The request's typ must be oauth-authz-req+jwt.") }
        guard keyID != nil else { throw .invalidObject("The request names no key.") }
        try checkRequestObject(client: client, issuer: issuer, responseType: "code", now: now)
        guard claims["sub"] == nil, claims["request"] == nil, claims["request_uri"] == nil
        else { throw .invalidObject("A request must have neither sub, nor request, nor request_uri.") }
        let seconds = now.secondsSinceEpoch
        guard let start = claims["nbf"]?.integer, start <= seconds + Self.clockSkew, start >= seconds - 3600,
            let expiry = claims["exp"]?.integer, expiry <= start + 3600
        else { throw .invalidObject("The request's nbf is missing, or too long ago, or too long before its exp.") }
        return try parameters()
    }

    /// The claims that are parameters of a request.
    /// - Parameter number: The one that may be a number; nil for none.
    func parameters(withNumber number: String? = nil) throws(OAuthError) -> Parameters {
        let own: Set<String> = ["iss", "aud", "iat", "exp", "nbf", "jti"]
        var items: [(name: String, value: String?)] = []
        for member in claims.members where !own.contains(member.name) {
            guard
                let text = member.value.string ?? (member.name == number ? member.value.integer : nil).map({ "\($0)" })
            else { throw .invalidObject("A parameter is not a string.") }
            items.append((member.name, text))
        }
        return Parameters(items)
    }
}

extension OAuthError {
    static func invalidObject(_ reason: String) -> Self { Self("invalid_request_object", reason) }
}

/// A client assertion as received (RFC 7523 section 3).
extension ReceivedJWS {
    static let maximumAssertionBytes = 16 * 1024

    /// The `jti`, of 1 to 255 bytes.
    var assertionID: String? {
        claims["jti"]?.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
    }

    /// The first claim that violates RFC 7523 section 3 or OpenID Connect Core section 9; nil if there is none. An
    /// `aud` of several audiences is refused, because another audience could replay the assertion here.
    func assertionFault(audiences: [String], now: Timestamp) -> String? {
        let seconds = now.secondsSinceEpoch
        guard let issuer = claims["iss"]?.string, issuer == claims["sub"]?.string else { return "iss" }
        guard let audience, audiences.contains(where: audience.hasSameBytes(as:)) else { return "aud" }
        guard let issuedAt = claims["iat"]?.integer, issuedAt <= seconds + Self.clockSkew else { return "iat" }
        // At most five minutes ahead.
        guard let expiry = claims["exp"]?.integer, seconds < expiry, expiry <= seconds + 300 else { return "exp" }
        if let notBefore = claims["nbf"] {
            guard let start = notBefore.integer, start <= seconds + Self.clockSkew else { return "nbf" }
        }
        return assertionID == nil ? "jti" : nil
    }

    private var audience: String? {
        guard case .array(let audiences) = claims["aud"] else { return claims["aud"]?.string }
        return audiences.count == 1 ? audiences[0].string : nil
    }
}
